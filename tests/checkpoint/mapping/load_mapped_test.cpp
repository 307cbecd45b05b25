#include "checkpoint/mapping/load_mapped.h"

#include <functional>
#include <gtest/gtest.h>

#include "core/ops/shapes/joining.h"
#include "core/tensor/convert.h"
#include "tests/checkpoint/mapping/stored_letters.h"

namespace simmesh::checkpoint {
namespace {

using testing::StoredLetters;

// Calls f with every box of a shape, also empty ones.
void for_each_box(const Shape& shape, const std::function<void(const Box&)>& visit) {
  std::vector<Box> boxes = {{}};
  for (std::int64_t size : shape) {
    std::vector<Box> longer;
    for (const Box& box : boxes)
      for (std::int64_t begin = 0; begin <= size; ++begin)
        for (std::int64_t length = 0; begin + length <= size; ++length) {
          longer.push_back(box);
          longer.back().offsets.push_back(begin);
          longer.back().sizes.push_back(length);
        }
    boxes = std::move(longer);
  }
  for (const Box& box : boxes) visit(box);
}

// Every box of a mapped tensor is that box of the whole, made serially.
void expect_boxes(const StoredLetters& stored, const std::vector<std::string>& statements,
                  const std::string& name, const Tensor& expected) {
  ASSERT_NE(stored.mapping(statements).find(name), nullptr);
  ASSERT_EQ(stored.mapping(statements).find(name)->shape, expected.shape());
  for_each_box(expected.shape(), [&](const Box& box) {
    ASSERT_TRUE(same_bits(stored.load(statements, name, box), StoredLetters::box_of(expected, box)))
        << statements.back() << to_string(box);
  });
}

TEST(LoadMapped, JoinsAndCuts) {
  StoredLetters stored;
  stored.add("a", {2, 3}).add("b", {1, 3}).add("c", {2, 2});
  const Tensor &a = stored.tensors["a"], &b = stored.tensors["b"], &c = stored.tensors["c"];
  expect_boxes(stored, {"a -> x"}, "x", a);
  expect_boxes(stored, {"a, b -> x, axis=0"}, "x", cat({a, b}, 0));
  expect_boxes(stored, {"b, a -> x, axis=\"-2\""}, "x", cat({b, a}, 0));
  expect_boxes(stored, {"b, a -> x, axis=-2"}, "x", cat({b, a}, 0));
  expect_boxes(stored, {"a, c -> x, axis=1"}, "x", cat({a, c}, 1));
  expect_boxes(stored, {"a -> x, y, z, axis=1"}, "y", a.narrow({1, 1, 1}));
  expect_boxes(stored, {"a -> x, y, axis=0"}, "y", a.narrow({0, 1, 1}));
  expect_boxes(stored, {"a, c -> x, fused_ffn"}, "x", cat({a, c}, 1));
  expect_boxes(stored, {"a, b -> x, fused_ffn, axis=0"}, "x", cat({a, b}, 0));
  expect_boxes(stored, {"c -> x, y, fused_ffn, axis=0"}, "y", c.narrow({0, 1, 1}));
  expect_boxes(stored, {"c -> x, y, fused_ffn"}, "x", c.narrow({1, 0, 1}));
  expect_boxes(stored, {"a, b -> t, axis=0", "t -> x, y, z, axis=0", "z, x -> r, axis=1"}, "r",
               cat({b, a.narrow({0, 0, 1})}, 1));
}

TEST(LoadMapped, TurnsThreeDimsEveryWay) {
  StoredLetters stored;
  stored.add("a", {2, 3, 2});
  const Tensor& a = stored.tensors["a"];
  for (const char* text : {"[0,1,2]", "[0,2,1]", "[1,0,2]", "[1,2,0]", "[2,0,1]", "[2,1,0]"}) {
    Dims dims = {text[1] - '0', text[3] - '0', text[5] - '0'};
    std::string statement = std::string("a -> x, permute=\"") + text + "\"";
    expect_boxes(stored, {statement}, "x", a.permute(dims));
    expect_boxes(stored, {statement, "x -> y, permute=\"[2,0,1]\""}, "y",
                 a.permute(dims).permute(Dims{2, 0, 1}));
  }
  expect_boxes(stored, {"a -> x, permute=\"[-1,0,-2]\""}, "x", a.permute(Dims{2, 0, 1}));
  expect_boxes(stored, {"a -> x, permute=\"[]\""}, "x", a.permute(Dims{2, 1, 0}));
}

// Two casts in a row round twice.
TEST(LoadMapped, RoundsOnceForEachCast) {
  StoredLetters stored;
  stored.add("a", {64}).add("b", {64}, DType::bfloat16);
  const Tensor& a = stored.tensors["a"];
  std::vector<std::string> twice = {"a -> t, dtype=\"float16\"", "t -> x, dtype=\"bfloat16\""};
  Tensor expected = converted(converted(a, DType::float16), DType::bfloat16);
  EXPECT_TRUE(same_bits(stored.load(twice, "x", whole(Shape{64})), expected));
  EXPECT_FALSE(same_bits(converted(a, DType::bfloat16), expected)) << "the chain shows nothing";
  EXPECT_TRUE(same_bits(stored.load({"b -> x, dtype=\"float32\""}, "x", {{3}, {5}}),
                        converted(stored.tensors["b"].narrow({0, 3, 5}), DType::float32)));
}

// Query, key and value heads are fused group by group, and come apart again.
TEST(LoadMapped, FusesHeads) {
  StoredLetters stored;
  stored.add("q", {2, 8}).add("k", {2, 4}).add("v", {2, 4});
  const Tensor &q = stored.tensors["q"], &k = stored.tensors["k"], &v = stored.tensors["v"];
  std::string heads = ", fused_qkv, num_heads=4, num_key_value_groups=2";
  Tensor fused = cat({q.narrow({1, 0, 4}), k.narrow({1, 0, 2}), v.narrow({1, 0, 2}),
                      q.narrow({1, 4, 4}), k.narrow({1, 2, 2}), v.narrow({1, 2, 2})},
                     1);
  expect_boxes(stored, {"q, k, v -> f" + heads}, "f", fused);
  std::vector<std::string> back = {"q, k, v -> f" + heads, "f -> x, y, z" + heads};
  expect_boxes(stored, back, "x", q);
  expect_boxes(stored, back, "y", k);
  expect_boxes(stored, back, "z", v);
  stored.add("r", {8, 2}).add("s", {4, 2}).add("t", {4, 2});
  const Tensor &r = stored.tensors["r"], &s = stored.tensors["s"], &t = stored.tensors["t"];
  expect_boxes(stored, {"r, s, t -> f" + heads + ", axis=0"}, "f",
               cat({r.narrow({0, 0, 4}), s.narrow({0, 0, 2}), t.narrow({0, 0, 2}),
                    r.narrow({0, 4, 4}), s.narrow({0, 2, 2}), t.narrow({0, 2, 2})},
                   0));
}

// Only the parts that the box is made of are read.
TEST(LoadMapped, ReadsNoMoreThanTheBox) {
  StoredLetters stored;
  stored.add("a", {4, 2}).add("b", {4, 2});
  Mapping mapping = stored.mapping({"a, b -> x, axis=0"});
  for_each_box({8, 2}, [&](const Box& box) {
    std::int64_t read = 0;
    load_mapped(*mapping.find("x"), box, [&](const std::string& name, const Box& part) {
      read += part.numel();
      return StoredLetters::box_of(stored.tensors.at(name), part);
    });
    ASSERT_EQ(read, box.numel());
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
