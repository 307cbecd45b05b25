#include "checkpoint/mapping/macros.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::map<std::string, StoredShape> stored_names(const std::vector<std::string>& names) {
  std::map<std::string, StoredShape> stored;
  for (const std::string& name : names) stored[name] = {};
  return stored;
}

// Returns the statements that one stands for, each as "left -> right".
std::vector<std::string> expansions(const std::string& text,
                                    const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const Statement& statement : expanded(parse_statement(text), stored_names(names)))
    all.push_back(
        fmt::format("{} -> {}", fmt::join(statement.left, " "), fmt::join(statement.right, " ")));
  return all;
}

// Layers are sorted as numbers: 10 comes after 2.
TEST(Macros, LayersAreTheNumbersOfStoredNames) {
  std::vector<std::string> names = {"l.10.w", "l.2.w", "l.2.b", "l.x.w", "l..w", "l.-1.w", "l.3.v"};
  EXPECT_THAT(expansions("l.$LAYER_ID.w -> m.$LAYER_ID.w", names),
              ElementsAre("l.2.w -> m.2.w", "l.10.w -> m.10.w"));
  EXPECT_THAT(expansions("l.$LAYER_ID.w, l.$LAYER_ID.b -> $LAYER_ID.$LAYER_ID, axis=0", names),
              ElementsAre("l.2.w l.2.b -> 2.2", "l.10.w l.10.b -> 10.10"));
  EXPECT_THAT(expansions("l.3.v -> a", names), ElementsAre("l.3.v -> a"));
  EXPECT_THAT(error_text([&] { expansions("k.$LAYER_ID -> a", names); }),
              HasSubstr("no stored name has a number for $LAYER_ID"));
  EXPECT_THAT(error_text([&] { expansions("l.2.w -> a.$LAYER_ID", names); }),
              HasSubstr("no stored name has a number for $LAYER_ID"));
  EXPECT_THAT(error_text([&] { expansions("l.$LAYER_ID_OFFSET.w -> a", names); }),
              HasSubstr("$LAYER_ID_OFFSET: write one statement for each layer"));
}

TEST(Macros, StarsAreTheNumbersOfStoredNames) {
  std::vector<std::string> names = {"e.0.w", "e.11.w", "e.9.w", "1.e.0.w", "1.e.1.w", "2.e.5.w"};
  EXPECT_THAT(expansions("e.*.w -> all, axis=0", names), ElementsAre("e.0.w e.9.w e.11.w -> all"));
  EXPECT_THAT(expansions("$LAYER_ID.e.*.w -> $LAYER_ID.all, axis=0", names),
              ElementsAre("1.e.0.w 1.e.1.w -> 1.all", "2.e.5.w -> 2.all"));
  EXPECT_THAT(error_text([&] { expansions("f.*.w -> all, axis=0", names); }),
              HasSubstr("no stored name fits 'f.*.w'"));
}

}  // namespace
}  // namespace simmesh::checkpoint
