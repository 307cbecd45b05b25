#include "replay/trace/finding_at.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(FindingAt, SaysHowBadItIsAndWhere) {
  FindingPlace place{.rank = 1, .node = 4, .field = "in_split"};
  EXPECT_EQ(to_string(error_at("split_sum", place, "text")),
            "error split_sum: rank 1 node 4 in_split: text");
  EXPECT_EQ(to_string(warning_at("schema", {.rank = 1}, "text")), "warning schema: rank 1: text");
  EXPECT_EQ(to_string(note_at("dangling_wait", {}, "text")), "note dangling_wait: text");
}

}  // namespace
}  // namespace simmesh::replay
