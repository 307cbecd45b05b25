#include "replay/job/found_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/trace_text.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

using ::testing::SizeIs;

// Would fail if a file were left out without being counted, or a trace counted as left out.
TEST(FoundFiles, CountWhatIsLeftOut) {
  testing::TemporaryFolder folder;
  folder.write("rank-0.json", testing::trace_text({}));
  folder.write("rank-0_resources/nid_3_tid_0.dat", "12345678");
  folder.write("args.json", R"({"lr": 0.1})");
  folder.write("README.md", "no trace");
  std::vector<std::string> paths = {folder.path().string()};
  FoundFiles found = find_files(paths);
  EXPECT_TRUE(found.has_traces);
  EXPECT_FALSE(found.has_timelines);
  EXPECT_FALSE(found.has_chakra);
  EXPECT_THAT(found.left_out, SizeIs(2));
  folder.write("kineto.json", R"({"my": {"schema": 1}, "traceEvents": []})");
  folder.write("rank-1.et",
               "\x07\x0A\x05"
               "0.0.4");
  found = find_files(paths);
  EXPECT_TRUE(found.has_timelines);
  EXPECT_TRUE(found.has_chakra);
  EXPECT_THAT(found.left_out, SizeIs(2));
}

TEST(FoundFiles, AreSaidInWords) {
  EXPECT_EQ(left_out_words({}), "");
  EXPECT_EQ(left_out_words({"a"}), "1 file that is no trace is left out: a");
  EXPECT_EQ(left_out_words({"a", "b", "c", "d"}),
            "4 files that are no traces are left out: a, b, c, ...");
}

}  // namespace
}  // namespace simmesh::replay
