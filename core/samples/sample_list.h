#pragma once

#include <gsl/span>
#include <iterator>
#include <vector>

#include "core/ops/attribute_names.h"
#include "core/samples/op_sample.h"

namespace simmesh {

// SampleList collects the sample calls of the library's ops. Each room of core/ops has a source of
// its name here, which defines the function named after it and adds the samples of the room's ops:
// at least one for each op, and together they use every argument of the op. matrices.cpp has
// void matrices_samples(SampleList& list) { list.add({{"mm", "ab bc"}}); }
// No list names these functions: cmake/families.cmake finds them by the names of the sources.
class SampleList {
 public:
  void add(std::vector<OpSample> samples) {
    samples_.insert(samples_.end(), std::make_move_iterator(samples.begin()),
                    std::make_move_iterator(samples.end()));
  }

  gsl::span<const OpSample> all() const { return samples_; }

 private:
  std::vector<OpSample> samples_;
};

// collected_samples returns the samples of all rooms.
SampleList collected_samples();

// along returns the arguments of an op that only has a dim.
inline Attributes along(std::int64_t dim) { return {attribute::dim = dim}; }

}  // namespace simmesh
