#include "core/arithmetic/philox.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh {
namespace {

// The vectors that come with the authors' Random123.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, WordsFollowTheCounter) {
  EXPECT_EQ(philox_word({}, 2), 0xbc57ac4cu);
  EXPECT_EQ(philox_uniform({}, 0), float(0x6627e8) * 0x1p-24f);
  EXPECT_NE(philox_word({.seed = 1}, 2), philox_word({}, 2));
  EXPECT_NE(philox_word({.stream = 1}, 2), philox_word({}, 2));
}

// Each shard of each cut holds the elements that the whole tensor holds there.
TEST(Philox, ShardsEqualTheWhole) {
  for (RandomKind kind : {RandomKind::uniform, RandomKind::normal})
    for (DType dtype : {DType::float64, DType::float32, DType::bfloat16}) {
      Tensor whole = empty({6, 7}, dtype);
      fill_random(whole, {.seed = 5}, {.kind = kind});
      for (std::int64_t rows = 0; rows <= 6; ++rows)
        for (std::int64_t columns = 0; columns <= 7; ++columns) {
          Tensor shard = empty({6 - rows, columns}, dtype);
          fill_random(shard, {.seed = 5}, {.global_shape = {6, 7}, .offset = {rows, 0}},
                      {.kind = kind});
          Tensor part = whole.narrow({.dim = 0, .start = rows, .length = 6 - rows})
                            .narrow({.dim = 1, .start = 0, .length = columns});
          EXPECT_TRUE(same_bits(shard, part.contiguous()));
        }
    }
}

// Mean and variance of 40,000 normal numbers within five standard errors.
TEST(Philox, NormalNumbersAreNormal) {
  double sum = 0, squares = 0;
  constexpr int count = 40000;
  for (std::uint64_t i = 0; i < count; ++i) {
    double x = philox_normal({.seed = 9}, i);
    sum += x;
    squares += x * x;
  }
  EXPECT_LT(std::fabs(sum / count), 5 / 200.0);
  EXPECT_LT(std::fabs(squares / count - 1), 5 * std::sqrt(2.0) / 200);
}

TEST(Philox, RefusesABoxOutside) {
  Tensor shard = empty({3}, DType::float32);
  EXPECT_THROW(fill_random(shard, {}, {.global_shape = {4}, .offset = {2}}, {}), Error);
}

}  // namespace
}  // namespace simmesh
