#pragma once

#include <initializer_list>
#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// OpList collects the ops of the library. A family is a source in one of the rooms that
// cmake/families.cmake names, such as core/ops/elementwise. It defines the function that is named
// after it and adds its ops: logic.cpp ends with
// void logic_ops(OpList& ops) { ops.add({&and_op, &or_op}); }
// No list names these functions: cmake/families.cmake finds them by the names of the sources.
class OpList {
 public:
  void add(std::initializer_list<const Op*> family) {
    ops_.insert(ops_.end(), family.begin(), family.end());
  }

  gsl::span<const Op* const> all() const { return ops_; }

 private:
  std::vector<const Op*> ops_;
};

// collected_ops returns the ops of all families.
OpList collected_ops();

}  // namespace simmesh
