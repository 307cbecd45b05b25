#include "core/ops/reused_reductions.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "core/ops/reused_results.h"

namespace simmesh {
namespace {

constexpr std::size_t kept_bytes = std::size_t(1) << 20;

std::vector<Tensor> operands_of(double first) {
  return {full({4}, DType::float32, first), full({4}, DType::float32, 2)};
}

Reduced result_of(double value) {
  Tensor sum = full({4}, DType::float32, value);
  return {sum.storage()->buffer(), 0, sum.shape(), sum.dtype(), 7};
}

TEST(ReusedReductions, FindWhatWasKept) {
  ReusedReductions known(kept_bytes);
  std::vector<Tensor> operands = operands_of(1), others = operands_of(3);
  Arithmetic arithmetic = Arithmetic::canonical();
  EXPECT_FALSE(known.find({.arithmetic = arithmetic, .operands = operands}));
  known.keep({.arithmetic = arithmetic, .operands = operands}, result_of(3));
  known.keep({.arithmetic = arithmetic, .operands = others}, result_of(5));
  std::vector<Tensor> copies = operands_of(1);
  std::optional<Reduced> found = known.find({.arithmetic = arithmetic, .operands = copies});
  ASSERT_TRUE(found);
  EXPECT_EQ(*reinterpret_cast<const float*>(found->buffer->data()), 3.0f);
  EXPECT_EQ(found->hash, 7u);
  EXPECT_EQ(known.reused(), 1u);
}

// If this fails, a rank gets the result of another reduction.
TEST(ReusedReductions, DependOnAllThatAReductionIsGiven) {
  ReusedReductions known(kept_bytes);
  std::vector<Tensor> operands = operands_of(1), turned = {operands[1], operands[0]};
  std::vector<Tensor> fewer = {operands[0]};
  Arithmetic exact = Arithmetic::exact(), ring = Arithmetic::as_nccl_ring();
  Arithmetic short_ring = Arithmetic::as_nccl_ring({.chunk_bytes = 4});
  known.keep({.op = ReduceOp::sum, .factor = 1, .arithmetic = ring, .operands = operands},
             result_of(3));
  auto is_known = [&](const ComputedReduction& reduction) {
    return known.find(reduction).has_value();
  };
  EXPECT_TRUE(is_known({.arithmetic = ring, .operands = operands}));
  EXPECT_FALSE(is_known({.op = ReduceOp::avg, .arithmetic = ring, .operands = operands}));
  EXPECT_FALSE(is_known({.factor = 2, .arithmetic = ring, .operands = operands}));
  EXPECT_FALSE(is_known({.arithmetic = exact, .operands = operands}));
  EXPECT_FALSE(is_known({.arithmetic = short_ring, .operands = operands}));
  EXPECT_FALSE(is_known({.arithmetic = ring, .keeps_unrounded = true, .operands = operands}));
  EXPECT_FALSE(is_known({.arithmetic = ring, .operands = turned}));
  EXPECT_FALSE(is_known({.arithmetic = ring, .operands = fewer}));
}

TEST(ReusedReductions, StayWithinTheirBytes) {
  ReusedReductions few(3 * 16 + 3 * 16 - 1);
  Arithmetic arithmetic = Arithmetic::canonical();
  for (double first : {1.0, 2.0}) {
    std::vector<Tensor> operands = operands_of(first);
    few.keep({.arithmetic = arithmetic, .operands = operands}, result_of(0));
    EXPECT_EQ(few.find({.arithmetic = arithmetic, .operands = operands}).has_value(), first == 1);
  }
}

TEST(ReusedReductions, AreThoseOfTheScope) {
  ReusedResults results(2, kept_bytes);
  World({.ranks = 2}).run([&](Rank& rank) {
    EXPECT_EQ(ReusedReductions::active(), nullptr);
    if (rank.id() == 0) return;
    ReusedResults::Scope scope(results);
    EXPECT_NE(ReusedReductions::active(), nullptr);
  });
}

}  // namespace
}  // namespace simmesh
