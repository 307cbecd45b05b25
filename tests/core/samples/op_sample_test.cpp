#include "core/samples/op_sample.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

SampleSizes sizes_of(std::int64_t a, std::int64_t b, std::int64_t c) {
  SampleSizes sizes;
  sizes.set('a', a);
  sizes.set('b', b);
  sizes.set('c', c);
  return sizes;
}

// If the words were read wrongly, ops would be tried on other tensors than the tables say.
TEST(OpSample, AWordSaysSizesAndElements) {
  auto inputs = sample_inputs({"", "ab2 i<a:c - n:. (ab)c b:b1"}, sizes_of(3, 5, 7), {});
  ASSERT_EQ(inputs.size(), 6u);
  EXPECT_EQ(inputs[0].shape(), (Shape{3, 5, 2}));
  EXPECT_EQ(inputs[0].dtype(), DType::float64);
  EXPECT_EQ(inputs[1].shape(), (Shape{7}));
  for (std::int64_t index : inputs[1].values<std::int64_t>()) EXPECT_LT(index, 3);
  EXPECT_FALSE(inputs[2].is_defined());
  EXPECT_EQ(inputs[3].shape(), Shape());
  EXPECT_EQ(inputs[4].shape(), (Shape{15, 7}));
  EXPECT_EQ(inputs[5].dtype(), DType::boolean);
}

// If elements left their range, ops would be asked outside of where they are defined.
TEST(OpSample, ElementsKeepTheirRange) {
  for (bool negated : {false, true})
    for (auto flavor :
         {SampleData::Flavor::small, SampleData::Flavor::fractions, SampleData::Flavor::wide}) {
      auto inputs = sample_inputs({"", "p:ab u:ab r:ab d:ab s:ab"}, sizes_of(4, 6, 1),
                                  {.seed = 3, .flavor = flavor, .negated = negated});
      for (double x : inputs[0].values<double>()) EXPECT_GT(x, 0);
      for (double x : inputs[1].values<double>()) EXPECT_LE(std::abs(x), 1);
      for (double x : inputs[2].values<double>()) EXPECT_TRUE(x >= 0 && x <= 1);
      for (double x : inputs[3].values<double>()) EXPECT_EQ(std::int64_t(x) % 2520, 0);
      auto sorted = inputs[4].values<double>();
      for (std::size_t row = 0; row < 4; ++row)
        EXPECT_TRUE(std::is_sorted(sorted.begin() + row * 6, sorted.begin() + row * 6 + 6));
    }
}

// If two inputs or two seeds had equal elements, a rule that mixes them up would pass.
TEST(OpSample, InputsAndSeedsDiffer) {
  auto inputs = sample_inputs({"", "ab ab"}, sizes_of(4, 5, 1), {});
  EXPECT_FALSE(same_bits(inputs[0], inputs[1]));
  EXPECT_FALSE(same_bits(inputs[0], sample_inputs({"", "ab"}, sizes_of(4, 5, 1), {.seed = 1})[0]));
}

// If an index came twice along dim 0, which value a scatter keeps would be nobody's promise.
TEST(OpSample, DistinctIndicesOccurOnce) {
  auto index = sample_inputs({"", "w<a:ab"}, sizes_of(5, 3, 1), {.seed = 2})[0];
  auto values = index.values<std::int64_t>();
  for (std::size_t column = 0; column < 3; ++column) {
    std::vector<std::int64_t> seen;
    for (std::size_t row = 0; row < 5; ++row) seen.push_back(values[row * 3 + column]);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  }
}

TEST(OpSample, LettersComeOnceInOrder) {
  EXPECT_EQ(letters_of({"", "cb2 (ab)1 -"}), "abc");
  EXPECT_EQ(letters_of({"", "."}), "");
}

}  // namespace
}  // namespace simmesh
