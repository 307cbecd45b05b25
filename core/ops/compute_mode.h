#pragma once

#include <simmesh/core/arithmetic/arithmetic.h>

namespace simmesh {

// ComputeMode is how a rank computes: whether ops are recorded on the tape, and how sums add up.
// Each rank has its own; outside any World each thread has one.
struct ComputeMode {
  bool grad_enabled = true;
  const Arithmetic* arithmetic = nullptr;  // null: the World's, canonical outside
};

// compute_mode returns the mode of the rank that runs, or of the thread outside any World.
ComputeMode& compute_mode();

// grad_enabled says whether ops are recorded on the tape.
inline bool grad_enabled() { return compute_mode().grad_enabled; }

// current_arithmetic returns how sums add up here: the innermost ArithmeticScope's, else the
// World's, else canonical.
const Arithmetic& current_arithmetic();

// GradMode switches recording on or off for a scope.
//
//   NoGrad scope;
//   add_(weight, step);   // not recorded
class GradMode {
 public:
  explicit GradMode(bool enabled);
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
};

// ArithmeticScope lets sums in its scope add up in another way than the World says. The arithmetic
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
