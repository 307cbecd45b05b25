#include "pipeline/schedule/csv.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/pipeline/rows_of.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::rows_of;
using simmesh::testing::Texts;
using simmesh::testing::texts_of;

// If this fails, a file of PyTorch has other rows here.
TEST(PipelineCsv, ReadsRowsWithAnyLineEnd) {
  EXPECT_EQ(texts_of(read_csv("0F0,,0B0\r\n1F0,1B0\r,2F0\n")),
            (Texts{"0F0,,0B0", "1F0,1B0", ",2F0"}));
  EXPECT_EQ(texts_of(read_csv("0F0\n\n0B0")), (Texts{"0F0", "", "0B0"}));
  EXPECT_TRUE(read_csv("").empty());
}

// If this fails, a quoted field is read with its quotes.
TEST(PipelineCsv, ReadsQuotedFields) {
  EXPECT_EQ(texts_of(read_csv("\"0F0\",\"\",0B0\n\"\"\n")), (Texts{"0F0,,0B0", ""}));
  EXPECT_EQ(read_csv("\"\"\n")[0].size(), 1u);
  EXPECT_EQ(texts_of(read_csv("\"0F\"1,0B0")), Texts{"0F1,0B0"});
  EXPECT_EQ(texts_of(read_csv("\"0F0\"\"x,\n\",0B0")), Texts{"0F0,0B0"});
  simmesh::testing::expect_error([] { read_csv("0F0,nonsense"); }, ErrorKind::runtime_error,
                                 "nonsense");
}

// If this fails, a file that is written isn't read back, or not by PyTorch.
TEST(PipelineCsv, WritesWhatItReads) {
  Rows rows = rows_of({"0F0,,(0F1;1B0)OVERLAP_F_B", ""});
  rows.push_back({Action()});
  std::string text = write_csv(rows);
  EXPECT_EQ(text, "0F0,,(0F1;1B0)OVERLAP_F_B\r\n\r\n\"\"\r\n");
  EXPECT_EQ(read_csv(text), rows);
}

}  // namespace
}  // namespace simmesh::pipeline
