#include "core/ops/attributes.h"

#include <gtest/gtest.h>
#include <utility>

namespace simmesh {
namespace {

constexpr Attribute<bool> keeps{"keeps"};
constexpr Attribute<Dims> along{"along"};
constexpr Attribute<double> ratio{"ratio"};
constexpr Attribute<std::int64_t> count{"count"};
constexpr Attribute<std::string> mode{"mode"};
constexpr Attribute<Number> number{"number"};

// An op would compute with another argument than it was given.
TEST(Attributes, AreFoundByTheirNames) {
  Attributes attributes{along = Dims{1}, keeps = true, mode = "tanh"};
  attributes.set(keeps = false);
  attributes.set(ratio = 2.0);
  EXPECT_EQ(attributes.get(along), Dims{1});
  EXPECT_FALSE(attributes.get(keeps));
  EXPECT_EQ(attributes.get(mode), "tanh");
  EXPECT_EQ(attributes.get_or(ratio, 1.0), 2.0);
  EXPECT_EQ(attributes.get_or(count, 7), 7);
  EXPECT_TRUE(attributes.has(ratio));
  EXPECT_FALSE(attributes.has(count));
  EXPECT_THROW(attributes.get(count), ContractViolation);
}

// Two ops may give one name two types.
TEST(Attributes, AreFoundWithTheirTypes) {
  constexpr Attribute<std::int64_t> other_ratio{"ratio"};
  Attributes attributes{ratio = 2.0};
  EXPECT_THROW(attributes.get(other_ratio), ContractViolation);
}

// A number that became a float would lift the dtype of integer tensors.
TEST(Attributes, KeepTheKindOfANumber) {
  EXPECT_TRUE(std::holds_alternative<std::int64_t>((number = 3).value));
  EXPECT_TRUE(std::holds_alternative<double>((number = 3.0).value));
  EXPECT_TRUE(std::holds_alternative<bool>((number = true).value));
  Attributes attributes{number = 3};
  EXPECT_FALSE(attributes.get(number).is_floating());
  EXPECT_EQ(attributes.get(number).as<double>(), 3.0);
  EXPECT_EQ(attributes.get_or(number, 4).as<std::int64_t>(), 3);
  EXPECT_FALSE(Attributes().number_in(number).has_value());
  EXPECT_EQ(Attributes().get_or(number, 4).as<std::int64_t>(), 4);
}

template <class Which, class Value>
concept Takes = requires(const Which& which, Value value) {
  which = value;
};

// A flag given for a size, or a text for a flag, would be found when the op runs.
TEST(Attributes, TakeValuesOfTheirTypeOnly) {
  using Flag = Attribute<bool>;
  using Size = Attribute<std::int64_t>;
  EXPECT_TRUE((Takes<Flag, bool> && Takes<Size, int> && Takes<Attribute<double>, int>));
  EXPECT_FALSE((Takes<Flag, int>));
  EXPECT_FALSE((Takes<Flag, const char*>));
  EXPECT_FALSE((Takes<Size, bool>));
  EXPECT_FALSE((Takes<Size, const char*>));
  EXPECT_FALSE((Takes<Attribute<Dims>, std::int64_t>));
  EXPECT_TRUE((Takes<Attribute<Number>, bool> && Takes<Attribute<Number>, double>));
}

}  // namespace
}  // namespace simmesh
