#include "collectives/uncharged.h"

#include <gtest/gtest.h>
#include <stdexcept>

#include "core/engine/world.h"
#include "core/tensor/tensor.h"

namespace simmesh {
namespace {

// If this fails, what a transport makes counts for the rank that came last, or a failure in between
// leaves a rank uncharged for ever.
TEST(Uncharged, EndsAlsoWhereItThrows) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank& rank) {
    const Ledger::Bytes& charged = rank.ledger().total();
    Tensor mine;
    try {
      Uncharged scope;
      mine = zeros({4}, DType::float32);
      EXPECT_EQ(charged.current, 0);
      throw std::runtime_error("in between");
    } catch (const std::runtime_error&) {
    }
    Tensor charged_one = zeros({4}, DType::float32);
    EXPECT_EQ(charged.current, 16);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
