#include "verify/schema.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

using namespace schema;

TEST(Schema, FieldsSayWhetherTheyMustBeThere) {
  Field field = required("a", flag());
  EXPECT_FALSE(field.is_optional || field.is_expected);
  EXPECT_TRUE(optional("a", flag()).is_optional);
  EXPECT_TRUE(expected("a", flag()).is_expected);
  EXPECT_EQ(expected("a", flag()).unless("b").otherwise, "b");
  EXPECT_TRUE(expected("a", flag()).unless("b").is_expected);
}

Schema tree_schema() {
  return named("tree", [] { return object({optional("left", tree_schema())}); });
}

// A schema that contains itself must neither be built for ever nor lose its meaning.
TEST(Schema, MayHoldItself) {
  Schema schema = tree_schema();
  const SchemaNode& tree = schema->resolved();
  ASSERT_EQ(tree.type, SchemaNode::Type::object);
  EXPECT_EQ(tree.fields[0].value->resolved().fields[0].name, "left");
}

TEST(Schema, FindsTheChoiceOfAWord) {
  Schema schema = object_by("op", {{"sum", {required("of", flag())}}, {"none", {}}});
  EXPECT_EQ(schema->find_choice("sum")->fields.size(), 1u);
  EXPECT_EQ(schema->find_choice("none")->fields.size(), 0u);
  EXPECT_EQ(schema->find_choice("product"), nullptr);
}

}  // namespace
}  // namespace simmesh
