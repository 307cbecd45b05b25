#include "replay/report/text_table.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(TextTable, AlignsWordsToTheLeftAndNumbersToTheRight) {
  TextTable table({"name", "us", "last"});
  EXPECT_TRUE(table.empty());
  table.add({"allreduce", "7.0", "rank 3"});
  table.add({"wait", "120.5", ""});
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.text(),
            "  name          us  last\n"
            "  allreduce    7.0  rank 3\n"
            "  wait       120.5\n");
}

}  // namespace
}  // namespace simmesh::replay
