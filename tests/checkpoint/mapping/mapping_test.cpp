#include "checkpoint/mapping/mapping.h"

#include <gmock/gmock.h>

#include "tests/checkpoint/mapping/stored_letters.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing::StoredLetters;

std::string mapping_problem(const StoredLetters& stored,
                            const std::vector<std::string>& statements) {
  return simmesh::testing::error_text([&] { stored.mapping(statements); });
}

TEST(Mapping, LaterStatementsSeeWhatEarlierOnesMade) {
  StoredLetters stored;
  stored.add("a", {2}).add("b", {3});
  Mapping mapping = stored.mapping({"a -> t", "b -> a", "t -> b"});
  EXPECT_EQ(mapping.find("a")->shape, Shape{3}) << "a name that was made hides a stored one";
  EXPECT_EQ(mapping.find("b")->pieces[0].stored, "a");
  EXPECT_EQ(mapping.find("none"), nullptr);
  EXPECT_TRUE(mapping.is_used("a") && mapping.is_used("b"));
}

TEST(Mapping, DropsAndLeavesAlone) {
  StoredLetters stored;
  stored.add("a", {2}).add("b", {3});
  Mapping mapping = stored.mapping({"a -> _", "_ -> c", "_ -> d", "b -> d"});
  EXPECT_TRUE(mapping.is_used("a"));
  EXPECT_TRUE(mapping.is_left_alone("c"));
  EXPECT_FALSE(mapping.is_left_alone("d")) << "a later statement makes it";
  EXPECT_FALSE(mapping.is_left_alone("a"));
  EXPECT_FALSE(stored.mapping({}).is_used("b"));
}

// States of the optimiser follow their parameter. Powers are taken over as they are.
TEST(Mapping, RunsForStatesOfTheOptimizer) {
  StoredLetters stored;
  for (const char* name : {"a", "b"}) {
    stored.add(name, {2, 3}, DType::bfloat16);
    for (const char* ending : {".w_0", ".moment1_0", ".moment2_0"})
      stored.add(std::string(name) + ending, {2, 3});
    stored.add(std::string(name) + ".beta1_pow_acc_0", {1});
  }
  stored.add("c", {4}).add("c.moment1_0", {4}, DType::bfloat16);
  Mapping mapping = stored.mapping({"a, b -> x, axis=0, permute=\"[1,0]\", dtype=\"float16\"",
                                    "c -> y, z, axis=0, dtype=\"float16\""});
  EXPECT_EQ(mapping.find("x")->dtype(), DType::float16);
  for (const char* ending : {".w_0", ".moment1_0", ".moment2_0"}) {
    const MappedTensor* state = mapping.find(std::string("x") + ending);
    ASSERT_NE(state, nullptr) << ending;
    EXPECT_EQ(state->shape, (Shape{3, 4})) << ending;
    EXPECT_EQ(state->dtype(), DType::float32) << "a state in float32 is not cast";
    EXPECT_TRUE(mapping.is_used(std::string("b") + ending));
  }
  EXPECT_EQ(mapping.find("x.beta1_pow_acc_0")->shape, Shape{1});
  EXPECT_EQ(mapping.find("x.beta1_pow_acc_0")->pieces[0].stored, "a.beta1_pow_acc_0");
  EXPECT_EQ(mapping.find("x.beta2_pow_acc_0"), nullptr);
  EXPECT_EQ(mapping.find("y.moment1_0")->dtype(), DType::float16);
  EXPECT_EQ(mapping.find("z.moment1_0")->pieces[0].source, (Box{{2}, {2}}));
  EXPECT_EQ(mapping.find("y.moment2_0"), nullptr);
}

TEST(Mapping, RefusesWithTheStatement) {
  StoredLetters stored;
  stored.add("a", {4, 3}).add("b", {4, 3}, DType::float16).add("v", {4}).add("none", {4, 0});
  for (auto [text, why] : std::vector<std::pair<const char*, const char*>>{
           {"q -> x", "'q -> x': 'q' is neither stored nor made by a statement"},
           {"a, v -> x, axis=0", "'a, v -> x, axis=0': tensors of the shapes [4, 3] and [4]"},
           {"a, b -> x, axis=0", "or of other dtypes, can't be joined along dim 0"},
           {"a, a -> x, axis=2", "axis 2 of a tensor of shape [4, 3]"},
           {"a -> x, y, axis=\"-3\"", "axis -3 of a tensor of shape [4, 3]"},
           {"a -> x, y, axis=1", "size 3 of dim 1 can't be cut into 2 equal parts"},
           {"a -> x, permute=\"[0]\"", "permute [0] of a tensor of shape [4, 3]"},
           {"a -> x, permute=\"[0,0]\"", "permute [0, 0] of a tensor of shape [4, 3]"},
           {"a -> x, permute=\"[0,2]\"", "permute [0, 2] of a tensor of shape [4, 3]"},
           {"a -> x, permute=\"[0,-3]\"", "permute [0, -3] of a tensor of shape [4, 3]"},
           {"a, b -> x, fused_qkv_old", "fused_qkv_old takes one name and gives one"},
           {"a -> x, fused_qkv, num_heads=1, num_key_value_groups=1",
            "fused_qkv takes q, k and v and gives one, or the other way round"},
           {"a -> x, y, z, fused_qkv, num_heads=2, num_key_value_groups=1",
            "a dim of 3 can't hold 4 heads"},
           {"v, v, v -> x, fused_qkv, num_heads=4, num_key_value_groups=2",
            "a dim of 12 can't hold 8 heads"}})
    EXPECT_THAT(mapping_problem(stored, {text}), HasSubstr(why)) << text;
  stored.add("q", {8}).add("k", {4}).add("l", {3}).add("m", {5});
  EXPECT_THAT(mapping_problem(stored, {"q, l, m -> x, fused_qkv, num_heads=2, "
                                       "num_key_value_groups=1"}),
              HasSubstr("q, k and v don't have the sizes of their heads"));
}

}  // namespace
}  // namespace simmesh::checkpoint
