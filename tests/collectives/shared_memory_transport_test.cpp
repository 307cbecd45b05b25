#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/transport.h"
#include "core/engine/world.h"
#include "core/ops/reused_results.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

using ::testing::Each;

constexpr std::size_t ranks = 3;
using Addresses = std::vector<const std::byte*>;

// The addresses of what each rank gets from a collective.
Addresses addresses_of(const std::function<Tensor(Rank& rank)>& collective) {
  Addresses addresses(ranks);
  std::vector<Tensor> kept(ranks);
  World({.ranks = ranks})
      .run([&](Rank& rank) {
        Tensor result = collective(rank);
        addresses[rank.id()] = std::as_const(result).data();
        barrier(ProcessGroup::world());
      })
      .rethrow();
  return addresses;
}

Tensor own_rows(Rank& rank) { return formula({2, 3}, {.seed = rank.id()}); }

// If this fails, a world of many ranks needs as many copies of each result as it has ranks.
TEST(SharedMemoryTransport, GivesOneBufferToAllMembers) {
  ProcessGroup (*all)() = ProcessGroup::world;
  Addresses sums =
      addresses_of([&](Rank& rank) { return all_reduce(own_rows(rank), ReduceOp::sum, all()); });
  EXPECT_THAT(sums, Each(sums[0]));
  Addresses gathered =
      addresses_of([&](Rank& rank) { return all_gather(own_rows(rank), {.dim = 0}, all()); });
  EXPECT_THAT(gathered, Each(gathered[0]));
  Addresses sent = addresses_of([&](Rank& rank) { return broadcast(own_rows(rank), 1, all()); });
  EXPECT_THAT(sent, Each(sent[0]));
}

// If this fails, pieces of one result are copied once more, or are in another order than members.
TEST(SharedMemoryTransport, CutsOneBufferIntoPieces) {
  Addresses pieces = addresses_of([](Rank& rank) {
    return reduce_scatter(formula({6, 2}, {.seed = rank.id()}), ReduceOp::sum, {.dim = 0},
                          ProcessGroup::world());
  });
  constexpr std::ptrdiff_t piece_bytes = 2 * 2 * sizeof(float);
  EXPECT_EQ(pieces[1] - pieces[0], piece_bytes);
  EXPECT_EQ(pieces[2] - pieces[1], piece_bytes);
}

// If this fails, what runs share changes a reduction. The operands' bits depend on the run's seed.
TEST(SharedMemoryTransport, ReducesOperandsOfTheSameBitsOnce) {
  for (const char* name : {"canonical", "rank_order", "exact", "as_nccl_ring", "as_gloo_ring"}) {
    ReusedResults reused(ranks, std::size_t(1) << 20);
    std::uint64_t of_first_run = 0;
    for (int run = 0; run < 6; ++run) {
      auto body = [&](Rank& rank) {
        Tensor own = formula({6, 5}, {.rule = Rule::unit, .seed = rank.id() + ranks * (run % 2)});
        for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::max}) {
          Tensor sum = all_reduce(own, op, ProcessGroup::world());
          rank.record(sum);
          sum.mutable_values<float>()[0] = 1;
          rank.record(reduce_scatter(own, op, {.dim = 0}, ProcessGroup::world()));
        }
      };
      WorldOptions options{.ranks = ranks, .arithmetic = Arithmetic::parse(name)};
      options.seed = std::uint64_t(run);
      options.schedule = run % 3 == 0   ? Schedule::fifo()
                         : run % 3 == 1 ? Schedule::seeded()
                                        : Schedule::pct({.depth = 3});
      Outcome whole = World(options).run(body);
      std::uint64_t before = reused.reused();
      Outcome shared = World(options).run([&](Rank& rank) {
        ReusedResults::Scope scope(reused);
        body(rank);
      });
      EXPECT_EQ(shared.data_hash, whole.data_hash) << name << " " << run;
      EXPECT_EQ(shared.live_storages, 0) << name;
      std::uint64_t of_run = reused.reused() - before;
      if (run == 0) of_first_run = of_run;
      EXPECT_EQ(of_run, of_first_run + (run < 2 ? 0u : 3u)) << name << " " << run;
    }
  }
}

}  // namespace
}  // namespace simmesh
