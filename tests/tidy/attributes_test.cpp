#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// The call, the kernel, the gradient and the sharding rule of an op name its arguments. Each
// argument is named once, by an Attribute in a header, so that a slip of the name or of the type is
// an error of the compiler and not of a run.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

bool is_about_ops(const SourceFile& file) {
  for (std::string_view folder :
       {"core/ops", "core/samples", "core/gradients", "core/autograd", "sharding"})
    if (is_below(file.path(), folder) && !is_below(file.path(), "sharding/paddle"))
      return file.is_cpp();
  return false;
}

std::vector<Finding> attributes_by_text(const SourceFile& file) {
  static const std::regex by_text(R"re((\.|->)(get|get_or|has|set)(<[^"]*>)?\(\s*")re");
  std::vector<Finding> findings;
  if (!is_about_ops(file)) return findings;
  for (std::size_t i = 0; i < file.lines().size(); ++i)
    if (std::regex_search(file.lines()[i], by_text))
      findings.push_back({file.path(), i + 1, "expected an Attribute, not the text of its name"});
  return findings;
}

std::vector<Finding> attributes_in_sources(const SourceFile& file) {
  static const std::regex definition(R"re(constexpr Attribute<.*> \w+\{)re");
  std::vector<Finding> findings;
  if (!is_about_ops(file) || file.is_header()) return findings;
  for (std::size_t i = 0; i < file.code().size(); ++i)
    if (std::regex_search(file.code()[i], definition))
      findings.push_back({file.path(), i + 1,
                          "expected this Attribute in a header, where the op's kernel, gradient "
                          "and sharding rule find it"});
  return findings;
}

TEST(Attributes, AreNoTextsInTheTree) { EXPECT_TRUE(holds_in_tree(attributes_by_text)); }
TEST(Attributes, AreInHeadersInTheTree) { EXPECT_TRUE(holds_in_tree(attributes_in_sources)); }

TEST(Attributes, FireOnATextThatNamesOne) {
  for (std::string_view line :
       {"auto d = attributes.get<std::int64_t>(\"dim\");", "call.attributes().get_or(\"dim\", 0);",
        "if (attributes.has(\"dim\")) return;", "attributes.set(\"dim\", 1);"}) {
    EXPECT_THAT(attributes_by_text({"core/gradients/shapes/views.cpp", line}), SizeIs(1)) << line;
    EXPECT_THAT(attributes_by_text({"core/nn/model_node.cpp", line}), IsEmpty());
  }
  EXPECT_THAT(attributes_by_text({"sharding/strategies/dim_rows.cpp",
                                  "auto d = call.attributes.get(attribute::dim);"}),
              IsEmpty());
}

TEST(Attributes, FireOnOneThatASourceHasForItself) {
  constexpr std::string_view line = "constexpr Attribute<bool> invert{\"invert\"};";
  EXPECT_THAT(attributes_in_sources({"core/ops/reductions/membership.cpp", line}), SizeIs(1));
  EXPECT_THAT(attributes_in_sources({"core/ops/reductions/membership.h", line}), IsEmpty());
  EXPECT_THAT(attributes_in_sources({"tests/core/ops/call_test.cpp", line}), IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
