// How does a tensor move from one sharding to another, and are its bits the same afterwards?
#include <fmt/core.h>

#include <simmesh/sharding/picture/picture.h>
#include <simmesh/simmesh.h>

using namespace simmesh;

int main() {
  World world({.ranks = 8, .schedule = Schedule::seeded(42)});
  Outcome outcome = world.run([](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 4}, {"dp", "tp"});
    Tensor full = formula({16, 8}, {.rule = Rule::wide, .seed = 1});
    DTensor x = distribute_tensor(full, mesh, {Shard(0), Replicate()});
    DTensor y = x.redistribute({Replicate(), Shard(1)});
    rank.expect_same_bits(y.full_tensor(), full);
    rank.record(y.to_local());
    if (rank.id() == 0) {
      fmt::print("before:\n{}\n", text_picture(Shape{16, 8}, Shape{2, 4}, x.spec().sharding));
      fmt::print("after:\n{}\n", text_picture(Shape{16, 8}, Shape{2, 4}, y.spec().sharding));
    }
  });
  fmt::print("{}\n", outcome.ok() ? "equal bits" : report(outcome));
  return outcome.ok() ? 0 : 1;
}
