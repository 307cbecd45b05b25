#include "core/ops/reused_results.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/engine/run/shared.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/op_observer.h"
#include "core/ops/reductions/sums.h"

namespace simmesh {
namespace {

constexpr std::size_t bytes_max = std::size_t(1) << 20;

// Runs a body in which each rank shares what runs compute.
Outcome run_with(ReusedResults& results, const WorldOptions& options,
                 const std::function<void(Rank&)>& body) {
  return World(options).run([&](Rank& rank) {
    ReusedResults::Scope scope(results);
    body(rank);
  });
}

Tensor equal_weights(double value) {
  Tensor x = full({3, 3}, DType::float32, value);
  set_requires_grad(x);
  return x;
}

// If this fails, runs compute again what they share, or get other bits by it.
TEST(ReusedResults, GiveTheBitsOfARunThatComputesEverything) {
  auto body = [](Rank& rank) {
    Tensor x = equal_weights(0.3 * double(rank.id() + 1)), w = equal_weights(1.7);
    Tensor y = mul(matmul(x, w), w);
    backward(sum(mul(y, y)));
    Tensor grad = grad_of(w).clone();
    mul_(grad, 0.1);
    rank.record(y);
    rank.record(grad);
    rank.record(grad_of(x));
  };
  WorldOptions options{.ranks = 2};
  std::uint64_t expected = World(options).run(body).data_hash;
  ReusedResults results(2, bytes_max);
  EXPECT_EQ(run_with(results, options, body).data_hash, expected);
  EXPECT_EQ(results.reused(), 0u);
  Outcome again = run_with(results, options, body);
  EXPECT_EQ(again.data_hash, expected);
  EXPECT_EQ(again.live_storages, 0);
  std::uint64_t of_a_run = results.reused();
  EXPECT_GT(of_a_run, 8u);
  EXPECT_EQ(run_with(results, options, body).data_hash, expected);
  EXPECT_EQ(results.reused(), 2 * of_a_run);
}

// If this fails, a race is hidden: a result of one schedule is taken for that of another.
TEST(ReusedResults, HideNoRace) {
  std::set<std::uint64_t> hashes;
  ReusedResults results(3, bytes_max);
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const Schedule& schedule :
         {Schedule::fifo(), Schedule::seeded(), Schedule::pct({.depth = 3})}) {
      auto shared = std::make_shared<std::optional<Shared<double>>>();
      auto body = [shared](Rank& rank) {
        Tensor w = equal_weights(0.5);
        double seen = (*shared)->use([](double& value) { return value += 1; });
        Tensor x = full({3, 3}, DType::float32, seen);
        backward(sum(mul(mul(x, w), w)));
        rank.record(grad_of(w));
      };
      WorldOptions options{.ranks = 3, .seed = seed, .schedule = schedule};
      shared->emplace("counter", 0.0);
      std::uint64_t expected = World(options).run(body).data_hash;
      shared->emplace("counter", 0.0);
      EXPECT_EQ(run_with(results, options, body).data_hash, expected);
      hashes.insert(expected);
    }
  EXPECT_GT(hashes.size(), 3u);
  EXPECT_GT(results.reused(), 0u);
}

// Arguments that compare equal may have other bits, and another path has other operations.
TEST(ReusedResults, DependOnAllThatAnOperationIsGiven) {
  ReusedResults results(1, bytes_max);
  double factor = 0.0;
  bool adds = false, is_transposed = false;
  Tensor made;
  auto run = [&] {
    run_with(results, {}, [&](Rank&) {
      Tensor x = tensor_of<float>({2, 2}, {1, 2, 3, 4});
      if (is_transposed) x = x.transpose(0, 1);
      Tensor y = mul(x, factor);
      made = adds ? add(y, x) : mul(add(x, x), x);
    });
    Tensor kept = made.clone();
    made = {};
    return kept;
  };
  Tensor products = run();
  EXPECT_TRUE(same_bits(run(), products));
  is_transposed = true;
  EXPECT_TRUE(same_bits(run(), products.transpose(0, 1).contiguous()));
  is_transposed = false, adds = true;
  EXPECT_FALSE(std::signbit(run().values<float>()[0]));
  EXPECT_EQ(run().values<float>()[3], 4.0f);
  EXPECT_GT(results.reused(), 0u);
  ReusedResults signs(1, bytes_max);
  for (double sign : {0.0, -0.0})
    run_with(signs, {}, [&](Rank&) {
      Tensor x = full({1}, DType::float32, 1);
      EXPECT_EQ(std::signbit(mul(x, sign).values<float>()[0]), std::signbit(sign));
    });
}

// If this fails, a write changes what later runs take, or memory grows without a bound.
TEST(ReusedResults, StayAsTheyAreAndWithinTheirBytes) {
  auto body = [](Rank& rank) {
    Tensor x = full({4}, DType::float32, 2), y = mul(x, x);
    y.mutable_values<float>()[0] += 1;
    x.mutable_values<float>()[0] = 7;
    EXPECT_EQ(y.values<float>()[0], 5.0f);
    rank.record(mul(x, y));
  };
  ReusedResults results(1, bytes_max), none(1, 0);
  std::uint64_t expected = World(WorldOptions()).run(body).data_hash;
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(run_with(results, {}, body).data_hash, expected);
    EXPECT_EQ(run_with(none, {}, body).data_hash, expected);
  }
  EXPECT_EQ(results.reused(), 4u);
  EXPECT_LE(none.reused(), 2u);
}

// If this fails, who looks at kernels misses those that aren't run.
TEST(ReusedResults, AreOffWhereKernelsAreLookedAt) {
  ReusedResults results(1, bytes_max);
  for (int run = 0; run < 2; ++run)
    World(WorldOptions()).run([&](Rank&) {
      int seen = 0;
      OpObserver observer([&](const Op&, OpObserver::Moment) { ++seen; });
      ReusedResults::Scope scope(results);
      Tensor x = full({4}, DType::float32, 2);
      mul(x, x);
      EXPECT_EQ(seen, 2);
    });
  EXPECT_EQ(results.reused(), 0u);
}

}  // namespace
}  // namespace simmesh
