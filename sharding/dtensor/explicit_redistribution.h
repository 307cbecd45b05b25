#pragma once

#include <string_view>

#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// ExplicitRedistributionOptions are those of PyTorch's ExplicitRedistributionContext.
struct ExplicitRedistributionOptions {
  // enable = false allows everything, also inside another scope.
  bool enable = true;
  // strict refuses every redistribution; otherwise only those are refused whose cost isn't 0 (see
  // DTensor::redistribute_cost_us).
  bool strict = false;
  // mode "raise" raises a RuntimeError for a refused redistribution, "warn" writes a line to the
  // World's log.
  std::string_view mode = "raise";
};

// ExplicitRedistributionContext refuses, while it lives, redistributions that the program doesn't
// ask for. Calls of redistribute and full_tensor, and their backward passes, are asked for. The
// backward pass of from_local is not, where the gradient has other placements than from_local needs
// (release 2.15; 2.13 doesn't check this). An op never redistributes its operands here, so there
// are no other cases.
//
// Scopes nest, and the innermost decides; each rank has its own. A scope stays on the stack of the
// rank that made it.
//
//   ExplicitRedistributionContext scope({.strict = true});
//   backward(y);   // RuntimeError: Implicit redistribution occurred in DTensor.from_local backward
class ExplicitRedistributionContext {
 public:
  // Raises a RuntimeError for another mode, and outside World::run.
  explicit ExplicitRedistributionContext(const ExplicitRedistributionOptions& options = {});
  ~ExplicitRedistributionContext();
  ExplicitRedistributionContext(const ExplicitRedistributionContext&) = delete;
  ExplicitRedistributionContext& operator=(const ExplicitRedistributionContext&) = delete;

  // observe_redistribution tells the innermost scope of this rank of a redistribution that nobody
  // asked for. The scope raises or logs the message, or allows it.
  static void observe_redistribution(const DTensor& from, const Sharding& to,
                                     std::string_view message);

 private:
  bool allows(const DTensor& from, const Sharding& to) const;

  bool is_enabled_;
  bool is_strict_;
  bool raises_;
  const ExplicitRedistributionContext** innermost_;  // this rank's
  const ExplicitRedistributionContext* outer_;
};

}  // namespace simmesh
