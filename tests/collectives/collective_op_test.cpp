#include "collectives/collective_op.h"

#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace simmesh {
namespace {

// A call of one collective would be counted, and traced, as another.
TEST(CollectiveOp, IsFoundByItsName) {
  for (const CollectiveFacts& facts : collective_facts) {
    EXPECT_EQ(collective_op_named(facts.name), facts.op) << facts.name;
    EXPECT_STREQ(name_of(facts.op), facts.name);
  }
  EXPECT_EQ(collective_op_named("all_gathers"), std::nullopt);
  EXPECT_THROW(facts_of(CollectiveOp(collective_op_count)), ContractViolation);
}

// Operands of which only the root's count need a root, and what is concatenated needs a dim.
TEST(CollectiveOp, ItsFactsGoTogether) {
  for (const CollectiveFacts& facts : collective_facts) {
    EXPECT_TRUE(facts.has_root || facts.operands != CollectiveOperands::of_root_alone)
        << facts.name;
    EXPECT_TRUE(facts.takes_dim || !facts.concatenates) << facts.name;
  }
}

// Returns the row of docs/collectives.md that has the collective's steps and bytes.
std::string row_on_the_page(const CollectiveFacts& facts) {
  std::ifstream page(SIMMESH_SOURCE_DIR "/docs/collectives.md");
  std::string line;
  while (std::getline(page, line) &&
         line != "| operation | result of each member | steps | bytes in total |")
    continue;
  while (std::getline(page, line) && line.starts_with("|"))
    if (line.substr(0, line.find('|', 1)).find(fmt::format("`{}`", facts.name)) != line.npos)
      return line;
  return {};
}

// The page would promise other steps and bytes than those that are counted.
TEST(CollectiveOp, ThePageHasItsStepsAndBytes) {
  for (const CollectiveFacts& facts : collective_facts) {
    std::string end = fmt::format(" | {} | {} |", facts.steps, to_string(facts.bytes));
    EXPECT_TRUE(row_on_the_page(facts).ends_with(end))
        << facts.name << ": expected" << end << ", got " << row_on_the_page(facts);
  }
}

}  // namespace
}  // namespace simmesh
