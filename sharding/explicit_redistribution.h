#pragma once

#include <string_view>

#include "sharding/dtensor.h"

namespace simmesh {

// ExplicitRedistributionOptions are PyTorch's, word for word.
struct ExplicitRedistributionOptions {
  // What an implicit redistribution meets: an error, or a line in the World's log of warnings.
  enum class Mode : std::uint8_t { raise, warn };

  bool enable = true;   // false lifts the scope around this one
  bool strict = false;  // also meet those that communicate nothing
  Mode mode = Mode::raise;
};

// ExplicitRedistributionContext lets a rank redistribute only where its program says so, while it
// lives: what a function of the library would redistribute on the program's behalf is an error that
// names the function and both specs. DTensor::redistribute and full_tensor are the program's own
// words. Scopes nest, the innermost decides, and each rank has its own. A scope lives on the stack
// of the rank that made it.
//
//   ExplicitRedistributionContext scope({.strict = true});
class ExplicitRedistributionContext {
 public:
  // Throws a RuntimeError outside World::run.
  explicit ExplicitRedistributionContext(ExplicitRedistributionOptions options = {});
  ~ExplicitRedistributionContext();
  ExplicitRedistributionContext(const ExplicitRedistributionContext&) = delete;
  ExplicitRedistributionContext& operator=(const ExplicitRedistributionContext&) = delete;

  const ExplicitRedistributionOptions& options() const { return options_; }

 private:
  ExplicitRedistributionOptions options_;
  const ExplicitRedistributionContext** innermost_;  // this rank's
  const ExplicitRedistributionContext* outer_;
};

// redistribute_implicitly is how the library redistributes an operand that the program did not: all
// of it goes through here. Returns the tensor itself where it has the placements. Under an
// ExplicitRedistributionContext it throws a RuntimeError, or warns, before anything is sent: where
// the planner's cost is above zero, and under strict always. Else as DTensor::redistribute_local.
DTensor redistribute_implicitly(std::string_view operation, const DTensor& operand,
                                const Placements& to, CallSite site = CallSite::here());

}  // namespace simmesh
