#include "sharding/dtensor/explicit_redistribution.h"

#include <fmt/format.h>

#include "core/check/error.h"
#include "core/engine/world.h"

namespace simmesh {

namespace {

constexpr std::string_view place = "sharding/explicit_redistribution";

// A type of its own, because the run finds slots by their type.
struct InnermostContext {
  const ExplicitRedistributionContext* context = nullptr;
};

bool is_raise(std::string_view mode) {
  if (mode != "raise" && mode != "warn")
    raise(ErrorKind::runtime_error, place, "Invalid mode {}, expected raise or warn", mode);
  return mode == "raise";
}

}  // namespace

ExplicitRedistributionContext::ExplicitRedistributionContext(
    const ExplicitRedistributionOptions& options)
    : is_enabled_(options.enable),
      is_strict_(options.strict),
      raises_(is_raise(options.mode)),
      innermost_(&this_rank().state<InnermostContext>().context),
      outer_(*innermost_) {
  *innermost_ = this;
}

ExplicitRedistributionContext::~ExplicitRedistributionContext() { *innermost_ = outer_; }

bool ExplicitRedistributionContext::allows(const DTensor& from, const Sharding& to) const {
  if (!is_enabled_) return true;
  return !is_strict_ && from.redistribute_cost_us(to.placements, {.order = to.order}) <= 0;
}

void ExplicitRedistributionContext::observe_redistribution(const DTensor& from, const Sharding& to,
                                                           std::string_view message) {
  Rank& rank = this_rank();
  const ExplicitRedistributionContext* context = rank.state<InnermostContext>().context;
  if (!context || context->allows(from, to)) return;
  if (context->raises_)
    raise(ErrorKind::runtime_error, place, "{}: expected {}, got {}", message, to_string(to),
          to_string(from.spec().sharding));
  if (const auto& warning = rank.world().options().log.warning)
    warning(fmt::format("rank {}: {}: from {} to {}", rank.id(), message,
                        to_string(from.spec().sharding), to_string(to)));
}

}  // namespace simmesh
