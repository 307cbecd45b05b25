#include "pipeline/schedule/row.h"

#include <gtest/gtest.h>

#include "tests/pipeline/rows_of.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::rows_of;
using simmesh::testing::Texts;
using simmesh::testing::texts_of;

// If this fails, hashes of rows differ from the recorded ones, or idle slots get lost.
TEST(PipelineRow, KeepsIdleSlotsInTexts) {
  Row row = parse_row(",0F0,,0B0,");
  EXPECT_EQ(row.size(), 5u);
  EXPECT_EQ(idle_slots(row), 3);
  EXPECT_EQ(to_string(row), ",0F0,,0B0,");
  EXPECT_TRUE(parse_row("").empty());
  EXPECT_EQ(to_string(rows_of({"0F0", ",1F0"})), "0F0\n,1F0");
}

// If this fails, a dry run sees actions that it doesn't know, or stages are missed.
TEST(PipelineRow, SelectsActions) {
  Rows rows = rows_of({",0UNSHARD,0F0,(0F1;3B0)OVERLAP_F_B,0SEND_F0", "1F0,"});
  EXPECT_EQ(texts_of(without_idle(rows))[0], "0UNSHARD,0F0,(0F1;3B0)OVERLAP_F_B,0SEND_F0");
  EXPECT_EQ(texts_of(compute_rows(rows)), (Texts{"0F0,(0F1;3B0)OVERLAP_F_B", "1F0"}));
  EXPECT_EQ(stage_count(rows), 4);
  EXPECT_EQ(stage_count({}), 0);
}

}  // namespace
}  // namespace simmesh::pipeline
