#include "verify/pipeline/case_rows.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

RecordedCase case_with(const std::string& fields) {
  return RecordedCase::parse(R"({"kind":"k","id":"a",)" + fields + "}", {.file = "a"});
}

// If this fails, a case runs with other options than it names.
TEST(PipelineCaseRows, ReadsOptions) {
  RecordedCase recorded = case_with(
      R"("options":{"defer_pp_recv":true,"max_active_stages":4,"unshard_lookahead":[1,2],
          "defer_reduce_grad_wait":true,"max_outstanding_sends":5})");
  pipeline::ScheduleOptions options = read_pipeline_options(recorded["options"]);
  EXPECT_TRUE(options.defer_pp_recv && options.defer_reduce_grad_wait);
  EXPECT_EQ(options.max_active_stages, 4);
  EXPECT_EQ(options.max_outstanding_sends, 5);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(options.unshard_lookahead),
            (std::vector<std::int64_t>{1, 2}));
  recorded = case_with(R"("options":{"unshard_lookahead":2,"max_outstanding_sends":null})");
  options = read_pipeline_options(recorded["options"]);
  EXPECT_EQ(std::get<std::string>(options.unshard_lookahead), "2");
  EXPECT_FALSE(options.max_outstanding_sends.has_value());
}

// If this fails, hashes of rows differ from the recorded ones, or a case may take any time.
TEST(PipelineCaseRows, ReadsRowsAndShapes) {
  RecordedCase recorded = case_with(
      R"("rows":["0F0,,0B0",""],"ranks":2,"stages_per_rank":3,"microbatches":4,"many":16384)");
  pipeline::Rows rows = read_rows(recorded["rows"]);
  EXPECT_EQ(row_texts(rows), (std::vector<std::string>{"0F0,,0B0", ""}));
  EXPECT_EQ(read_shape(recorded.root()).stages(), 6);
  EXPECT_EQ(text_hash("0F0,0B0"), "5bb75dab3eb48fef");
  recorded = case_with(R"("ranks":2,"stages_per_rank":3,"microbatches":16384)");
  testing::expect_error<BadCase>([&] { read_shape(recorded.root()); }, ErrorKind::value_error,
                                 "stages times micro-batches");
}

}  // namespace
}  // namespace simmesh
