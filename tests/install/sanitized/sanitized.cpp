// Frames that the sanitizer watches are on the stacks of fibers, which switch in the middle of
// them, throw through them and run other worlds. With an argument, rank 1 writes past the end of a
// local array.
#include <fmt/core.h>
#include <stdexcept>

#include <simmesh/simmesh.h>

using namespace simmesh;

bool overflows = false;

Tensor summed(Tensor x, int depth) {
  volatile char frame[256];
  for (int i = 0; i < 256; ++i) frame[i + (overflows && this_rank().id() == 1)] = char(depth);
  if (depth > 0) return summed(x, depth - 1);
  return all_reduce(x, ReduceOp::sum, ProcessGroup::world());
}

void rank_body(Rank& rank) {
  Tensor x = full({4}, DType::float32, rank.id());
  for (int i = 0; i < 3; ++i) {
    try {
      x = summed(x, 20);
      if ((int(rank.id()) + i) % 2 == 0) throw std::runtime_error("on purpose");
    } catch (const std::runtime_error&) {
      barrier(ProcessGroup::world());
      continue;
    }
    barrier(ProcessGroup::world());
  }
  World inner({.ranks = 3});
  rank.record(inner.run([](Rank&) { summed(full({1}, DType::float32, 1), 3); }).data_hash);
  if (rank.id() == 5) throw std::runtime_error("the others are unwound");
  summed(x, 2);
}

int main(int argc, char**) {
  overflows = argc > 1;
  int runs = 0, ok = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = 6, .schedule = Schedule::seeded(seed), .threads = threads});
      Outcome outcome = world.run(rank_body);
      ++runs;
      ok += outcome.failure && outcome.failure->rank == 5;
    }
  }
  fmt::print("{} runs, {} ok\n", runs, ok);
}
