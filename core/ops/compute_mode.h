#pragma once

#include "core/engine/options/arithmetic.h"
#include "core/tensor/grad_mode.h"

namespace simmesh {

// current_arithmetic returns the arithmetic in effect: the innermost ArithmeticScope's, else the
// World's, else canonical. Code that has the mode at hand passes it, which saves a look-up.
const Arithmetic& current_arithmetic(const ComputeMode& mode);
inline const Arithmetic& current_arithmetic() { return current_arithmetic(compute_mode()); }

// KeepUnrounded keeps the unrounded sums of products, reductions, additions, scatters and
// collectives in its scope, in exact arithmetic. The rounded result keeps its unrounded sum as a
// companion (see core/arithmetic/unrounded.h). An operation in the scope that adds to the result,
// or takes a part of it, uses that sum, until code reads an element. It is for sums that aren't
// complete yet: partial placements, gradients over micro-batches. In other arithmetics it does
// nothing.
//
//   KeepUnrounded scope;
//   Tensor part = mm(x_columns, w_rows);                         // this rank's terms
//   DTensor y = from_local(part, mesh, {Partial(ReduceOp::sum)});  // y has one device's bits
class KeepUnrounded {
 public:
  explicit KeepUnrounded(bool keeps = true) : KeepUnrounded(keeps, compute_mode()) {}
  // For the mode of the rank that runs.
  KeepUnrounded(bool keeps, ComputeMode& mode) : mode_(mode), before_(mode.keeps_unrounded) {
    mode_.keeps_unrounded = keeps;
  }
  ~KeepUnrounded() { mode_.keeps_unrounded = before_; }
  KeepUnrounded(const KeepUnrounded&) = delete;
  KeepUnrounded& operator=(const KeepUnrounded&) = delete;

 private:
  ComputeMode& mode_;
  bool before_;
};

// keeps_unrounded is true if the innermost scope keeps unrounded sums, and the arithmetic is exact.
inline bool keeps_unrounded(const ComputeMode& mode) {
  return mode.keeps_unrounded && current_arithmetic(mode).is_exact();
}
inline bool keeps_unrounded() { return keeps_unrounded(compute_mode()); }

// GradMode switches recording on or off in a scope.
//
//   NoGrad scope;
//   add_(weight, step);   // not recorded
class GradMode {
 public:
  explicit GradMode(bool enabled) : GradMode(enabled, compute_mode()) {}
  // For the mode of the rank that runs.
  GradMode(bool enabled, ComputeMode& mode) : mode_(mode), before_(mode.grad_enabled) {
    mode_.grad_enabled = enabled;
  }
  ~GradMode() { mode_.grad_enabled = before_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  ComputeMode& mode_;
  bool before_;
};

// NoGrad records nothing in its scope.
class NoGrad : public GradMode {
 public:
  NoGrad() : GradMode(false) {}
  explicit NoGrad(ComputeMode& mode) : GradMode(false, mode) {}
};

// ArithmeticScope sets the arithmetic of sums in its scope, in place of the World's. The arithmetic
// must outlive the scope.
class ArithmeticScope {
 public:
  explicit ArithmeticScope(const Arithmetic& arithmetic);
  ~ArithmeticScope() { mode_.arithmetic = before_; }
  ArithmeticScope(const ArithmeticScope&) = delete;
  ArithmeticScope& operator=(const ArithmeticScope&) = delete;

 private:
  ComputeMode& mode_;
  const Arithmetic* before_;
};

}  // namespace simmesh
