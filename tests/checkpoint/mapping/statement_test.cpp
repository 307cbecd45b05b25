#include "checkpoint/mapping/statement.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Form = Statement::Form;

std::string statement_problem(const std::string& text) {
  return simmesh::testing::error_text([&] { parse_statement(text); });
}

TEST(Statement, ReadsNamesAndAttributes) {
  Statement statement = parse_statement("a.b_0, $LAYER_ID.*->c , axis = '-1',dtype='float16'");
  EXPECT_THAT(statement.left, ElementsAre("a.b_0", "$LAYER_ID.*"));
  EXPECT_THAT(statement.right, ElementsAre("c"));
  EXPECT_EQ(statement.axis, -1);
  EXPECT_EQ(statement.dtype, DType::float16);
  EXPECT_EQ(statement.form, Form::plain);
  EXPECT_EQ(parse_statement("a, b -> c, axis=-1, dtype=float16").axis, -1);
  EXPECT_EQ(parse_statement("a, b -> c, axis=\"-2\"").axis, -2);
  EXPECT_THAT(parse_statement("a -> b, c, axis=1").right, ElementsAre("b", "c"));
  EXPECT_THAT(*parse_statement("a -> b, permute=\"[ 2, 0,1]\"").permute, ElementsAre(2, 0, 1));
  EXPECT_TRUE(parse_statement("a -> b, permute=\"[]\"").permute->empty());
  EXPECT_EQ(parse_statement("a -> b, src_dtype='float32', dst_dtype='bfloat16'").dtype,
            DType::bfloat16);
  Statement fused = parse_statement("q,k,v -> f, fused_qkv, num_heads=8, num_key_value_groups=2");
  EXPECT_EQ(fused.form, Form::fused_qkv);
  EXPECT_EQ(fused.num_heads, 8);
  EXPECT_EQ(fused.num_key_value_groups, 2);
  EXPECT_EQ(parse_statement("g, u -> f, fused_ffn").form, Form::fused_ffn);
  EXPECT_EQ(parse_statement("a -> b, fused_qkv_old").form, Form::fused_qkv_old);
  EXPECT_THAT(parse_statement("a -> _").right, ElementsAre("_"));
  EXPECT_THAT(parse_statement("_ -> a").left, ElementsAre("_"));
}

// Each refusal shows the statement, and the place or the reason.
TEST(Statement, RefusesWithThePlace) {
  for (auto [text, why] : std::vector<std::pair<const char*, const char*>>{
           {"", "'', character 1: expected a stored name, got the end"},
           {"-> b", "character 1: expected a stored name, got '->'"},
           {"a", "character 2: expected '->', got the end"},
           {"a b -> c", "character 3: expected '->', got 'b'"},
           {"a ->", "expected a name to load, got the end"},
           {"a, -> b", "character 4: expected a stored name, got '->'"},
           {"a -> b,", "expected a name or an attribute, got the end"},
           {"a -> b -> c", "character 8: expected the end, got '->'"},
           {"a -> b # c", "character 8: '#' is not expected here"},
           {"a - > b", "character 3: '-' is not expected here"},
           {"a -> b, axis='0", "character 14: a text without its closing quote"},
           {"a -> b, axis=", "expected a value, got the end"},
           {"a -> b, axis=,", "expected a value, got ','"},
           {"a -> b, axis=x", "character 14: expected an integer, got 'x'"},
           {"a -> b, axis=-", "character 14: '-' is not expected here"},
           {"a -> b, axis=-1x", "character 14: expected an integer, got '-1x'"},
           {"a -> b, axis=--1", "character 14: '-' is not expected here"},
           {"-1 -> b", "character 1: expected a stored name, got '-1'"},
           {"a -> b, -1", "expected a name or an attribute, got '-1'"},
           {"a -1> b", "character 3: expected '->', got '-1'"},
           {"a -> b, axis=9223372036854775808", "expected an integer"},
           {"a -> b, permute=1", "expected a list such as [1,0], got '1'"},
           {"a -> b, permute=\"[1\"", "expected a list such as [1,0], got '[1'"},
           {"a -> b, permute=\"[1,,0]\"", "expected an integer, got ''"},
           {"a -> b, dtype=int8", "expected float32, float16 or bfloat16, got 'int8'"},
           {"a -> b, src_dtype=int8", "expected float32, float16 or bfloat16, got 'int8'"},
           {"a -> b, sort=1", "character 9: expected axis, permute"},
           {"a -> b, axis=0, c", "character 17: expected an attribute, got 'c'"},
           {"a, b -> c", "'a, b -> c': joining or cutting needs an axis"},
           {"a -> b, c", "joining or cutting needs an axis"},
           {"a, b -> c, d, axis=0", "several names on both sides"},
           {"a, b -> _", "'_' is alone on its side, against one name"},
           {"_ -> a, b, axis=0", "'_' is alone on its side, against one name"},
           {"q, k, v -> f, fused_qkv", "fused_qkv needs num_heads"},
           {"q, k, v -> f, fused_qkv, num_heads=3, num_key_value_groups=2",
            "a multiple of num_key_value_groups"},
           {"q, k, v -> f, fused_qkv, num_heads=0, num_key_value_groups=0", "needs num_heads"},
           {"q, k, v -> f, fused_qkv, num_heads=65537, num_key_value_groups=1",
            "expected at most 65536 heads"}})
    EXPECT_THAT(statement_problem(text), HasSubstr(why)) << text;
}

}  // namespace
}  // namespace simmesh::checkpoint
