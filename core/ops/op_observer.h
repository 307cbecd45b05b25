#pragma once

#include <functional>

#include "core/ops/op.h"

namespace simmesh {

// OpObserver is told before and after each kernel that this rank runs in its scope: to count, trace
// or time kernels. Only the innermost of nested scopes is told.
//
//   std::map<std::string, int> calls;
//   OpObserver scope([&](const Op& op, OpObserver::Moment moment) {
//     if (moment == OpObserver::Moment::after) ++calls[op.name];
//   });
class OpObserver {
 public:
  // Moment says whether the kernel is about to run, or has run.
  enum class Moment : std::uint8_t { before, after };
  using Observe = std::function<void(const Op& op, Moment moment)>;

  explicit OpObserver(Observe observe);
  ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;

  // active returns the innermost observer of this rank, null where there is none.
  static const Observe* active();

 private:
  Observe observe_;
  const Observe* outer_;
};

}  // namespace simmesh
