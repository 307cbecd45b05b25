#include "sharding/explicit_redistribution.h"

#include "core/check/error.h"
#include "core/engine/rank.h"
#include "core/engine/world.h"

namespace simmesh {

namespace {

using Context = ExplicitRedistributionContext;
using Mode = ExplicitRedistributionOptions::Mode;

// A type of its own, for the run finds slots by their type.
struct InnermostContext {
  const Context* context = nullptr;
};

std::string describe(std::string_view operation, const DTensor& operand, const Placements& to,
                     const CallSite& site) {
  DTensorSpec target = operand.spec();
  target.sharding = {to, {}};
  return fmt::format(
      "rank {}: implicit redistribution by {} at {}: from {} to {}; expected an explicit "
      "redistribute, or a call outside the ExplicitRedistributionContext",
      this_rank().id(), operation, to_string(site), to_string(operand.spec()), to_string(target));
}

// Apart, so that a rank that waits in the redistribution has none of it on its stack.
[[gnu::noinline]] void observe(std::string_view operation, const DTensor& operand,
                               const Placements& to, const CallSite& site) {
  const Context* context = this_rank().state<InnermostContext>().context;
  if (!context || !context->options().enable) return;
  if (!context->options().strict && !(operand.redistribute_cost_us(to) > 0)) return;
  if (context->options().mode == Mode::raise)
    raise(ErrorKind::runtime_error, "sharding/explicit_redistribution", "{}",
          describe(operation, operand, to, site));
  if (const auto& warning = this_rank().world().options().log.warning)
    warning(describe(operation, operand, to, site));
}

}  // namespace

Context::ExplicitRedistributionContext(ExplicitRedistributionOptions options)
    : options_(options),
      innermost_(&this_rank().state<InnermostContext>().context),
      outer_(*innermost_) {
  *innermost_ = this;
}

Context::~ExplicitRedistributionContext() { *innermost_ = outer_; }

DTensor redistribute_implicitly(std::string_view operation, const DTensor& operand,
                                const Placements& to, CallSite site) {
  Placements target = normalized(to, std::int64_t(operand.shape().size()));
  if (operand.spec().sharding == Sharding{target, {}}) return operand;
  if (operand.mesh().get_coordinate()) observe(operation, operand, target, site);
  return operand.redistribute_local(target, {}, site);
}

}  // namespace simmesh
