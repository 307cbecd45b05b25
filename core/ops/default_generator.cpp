#include <optional>

#include <simmesh/core/engine/rank.h>
#include <simmesh/core/engine/world.h>
#include <simmesh/core/ops/default_generator.h>

namespace simmesh {

namespace {

struct Default {
  std::optional<Generator> generator;
};

thread_local Default outside_default;

}  // namespace

Generator& default_generator() {
  std::optional<Generator>& generator =
      (in_rank() ? this_rank().state<Default>() : outside_default).generator;
  if (!generator) generator = Generator{.seed = in_rank() ? this_rank().world().options().seed : 0};
  return *generator;
}

void manual_seed(std::uint64_t seed) { default_generator() = Generator{.seed = seed}; }

}  // namespace simmesh
