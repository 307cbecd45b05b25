#include "core/tensor/known_tensor.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "core/tensor/scalar_value.h"
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

}  // namespace
}  // namespace simmesh
