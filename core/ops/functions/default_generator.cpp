#include "core/ops/functions/default_generator.h"

#include <optional>

#include "core/engine/ranks/local_state.h"
#include "core/engine/world.h"

namespace simmesh {

namespace {

struct Default {
  std::optional<Generator> generator;
};

}  // namespace

Generator& default_generator() {
  std::optional<Generator>& generator = local_state<Default>().generator;
  if (!generator) generator = Generator{.seed = in_rank() ? this_rank().world().options().seed : 0};
  return *generator;
}

void manual_seed(std::uint64_t seed) { default_generator() = Generator{.seed = seed}; }

}  // namespace simmesh
