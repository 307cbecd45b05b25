// The program of the README.
#include <fmt/core.h>

#include <simmesh/simmesh.h>

using namespace simmesh;

int main(int argc, char** argv) {
  World world(world_options_from(
      argc, argv,
      {.ranks = 8, .schedule = Schedule::seeded(42), .arithmetic = Arithmetic::exact()}));
  Outcome outcome = world.run([](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 4}, {"dp", "tp"});
    Tensor full = formula({16, 8}, {.rule = Rule::wide, .seed = 1});
    DTensor x = distribute_tensor(full, mesh, {Shard(0), Replicate()});
    DTensor y = x.redistribute({Replicate(), Shard(1)});
    rank.expect_same_bits(y.full_tensor(), full);
  });
  fmt::print("{}\n", outcome);
  return outcome.ok() ? 0 : 1;
}
