#include "core/tensor/known_tensor.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/functions/closeness.h"
#include "core/ops/functions/embedding_bag.h"
#include "core/ops/functions/grids.h"
#include "core/ops/functions/striding.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/neural/pooling.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/scalar_value.h"
#include "core/tensor/vector_of.h"
#include "tests/core/engine/spread/run_spread.h"

namespace simmesh {
namespace {

// A ghost would go on by other elements than its owner, or be charged for them.
TEST(KnownTensor, HasTheOwnersElementsInEachProcess) {
  EXPECT_EQ(run_spread(3,
                       [](WorldSpread&) {
                         std::string text;
                         Outcome outcome = World({.ranks = 3}).run([&](Rank& rank) {
                           Tensor own = full(Dims{3}, DType::float32, double(rank.id()));
                           std::int64_t held = rank.ledger().total().current;
                           Tensor known = known_tensor(own, "a test");
                           text += fmt::format("{} ", known.values<float>()[2]);
                           if (rank.ledger().total().current != held) text += "charged ";
                           Tensor scalar = full(DimSpan(), DType::int64, 5.0 + rank.id());
                           text += fmt::format("{} ", scalar_value(scalar));
                         });
                         return text + (outcome.ok() ? "" : report(outcome));
                       }),
            "0 5 1 6 2 7 ");
}

// A read of a ghost's values that nobody made known would give other values.
TEST(KnownTensor, AGhostsValuesAreAnErrorUntilTheyAreKnown) {
  std::string text = run_spread(2, [](WorldSpread&) {
    return both_hashes(World({.ranks = 2}).run([](Rank& rank) {
      Tensor own = full(Dims{2}, DType::int64, double(rank.id()));
      make_known(own, "choices");
      if (own.values<std::int64_t>()[1] != std::int64_t(rank.id())) throw std::logic_error("other");
      Tensor ghost = full(Dims{2}, DType::int64, 1);
      static_cast<void>(ghost.values<std::int64_t>());
    }));
  });
  EXPECT_NE(text.find("rank 0 failed: [memory/storage] expected a tensor with data"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("known_tensor"), std::string::npos) << text;
}

// Functions of the library that go on by elements, or write some of their own, would find none.
TEST(KnownTensor, FunctionsThatReadElementsRunInGhosts) {
  auto body = [](Rank& rank) {
    Tensor x = full(Dims{3, 4}, DType::float32, double(rank.id()));
    Tensor flags = eq(as_strided(x, Dims{6}, Dims{2}, 1), 1);
    rank.record(nonzero(flags));
    rank.record(masked_select(x, ones({3, 4}, DType::boolean)));
    rank.record(tril_indices({.rows = 3, .columns = 2}));
    rank.record(avg_pool2d(reshape(x, {1, 3, 4}), {.kernel = {2, 2}}));
    Tensor bags = vector_of<std::int64_t>({0, 2});
    rank.record(embedding_bag(vector_of<std::int64_t>({2, 1, 0, 2}), x, {.offsets = bags}));
    if (item(full({}, DType::int64, double(rank.id()))).as<std::int64_t>() == 2) rank.record(flags);
    if (equal(x, ones({3, 4}, DType::float32))) rank.record(flags);
    if (allclose(x, zeros({3, 4}, DType::float32))) rank.record(x);
  };
  auto run = [&] { return both_hashes(World({.ranks = 3}).run(body)); };
  std::string alone = run();
  EXPECT_EQ(alone.find("failed"), std::string::npos) << alone;
  EXPECT_EQ(run_spread(2, [&](WorldSpread&) { return run(); }), alone);
}

}  // namespace
}  // namespace simmesh
