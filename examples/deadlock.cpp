// What does a hang look like if one rank takes another path?
#include <fmt/core.h>

#include <simmesh/simmesh.h>

using namespace simmesh;

int main() {
  World world({.ranks = 4});
  Outcome outcome = world.run([](Rank& rank) {
    ProcessGroup group = ProcessGroup::world();
    Tensor loss = full({1}, DType::float32, rank.id());
    all_reduce(loss, ReduceOp::sum, group);
    // Rank 2 skips the second collective.
    if (rank.id() != 2) all_gather(loss, {.dim = 0}, group);
  });
  fmt::print("{}\n", outcome.failure->message);
  fmt::print("{}\n", outcome.failure->details);
  return outcome.failure->kind == Failure::Kind::deadlock ? 0 : 1;
}
