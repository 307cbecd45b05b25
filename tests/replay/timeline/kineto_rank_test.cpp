#include "replay/timeline/kineto_rank.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "replay/read/bad_trace.h"
#include "tests/replay/timeline/kineto_text.h"

namespace simmesh::replay {

namespace {

using ::testing::HasSubstr;
using testing::kineto_text;

KinetoRank rank_from(std::string_view text) {
  TextSource source("rank.json", text);
  return read_kineto_rank(source);
}

// Would fail if an event got the kind of another, or if streams and threads shared a track.
TEST(ReplayKinetoRank, SortsEventsByKindAndTrack) {
  KinetoRank rank = rank_from(kineto_text(
      {{.category = "kernel", .name = "gemm", .arguments = R"("stream": 7)"},
       {.category = "kernel", .name = "ncclKernel_AllReduce()", .arguments = R"("stream": 84)"},
       {.category = "gpu_memcpy", .arguments = R"("stream": 7, "bytes": 832)"},
       {.category = "gpu_memset", .arguments = R"("stream": 7)"},
       {.category = "cpu_op", .process = "59811", .thread = "7"},
       {.category = "cuda_runtime", .process = "59811", .thread = "7"},
       {.category = "user_annotation", .process = "59811", .thread = "7"},
       {.category = "gpu_user_annotation", .arguments = R"("stream": 7)"},
       {.category = "Trace"},
       {.category = "python_function"}}));
  std::vector<SpanKind> kinds;
  std::vector<std::uint32_t> tracks;
  for (const TimelineSpan& span : rank.timeline.spans) {
    kinds.push_back(span.kind);
    tracks.push_back(span.track);
  }
  EXPECT_EQ(kinds,
            (std::vector<SpanKind>{SpanKind::compute, SpanKind::communication, SpanKind::copy,
                                   SpanKind::copy, SpanKind::host, SpanKind::host,
                                   SpanKind::annotation, SpanKind::annotation}));
  EXPECT_EQ(tracks, (std::vector<std::uint32_t>{0, 1, 0, 0, 2, 2, 2, 0}));
  EXPECT_EQ(rank.timeline.tracks[1].name, "stream 84");
  EXPECT_EQ(rank.timeline.tracks[2].name, "thread 7");
  EXPECT_FALSE(rank.timeline.tracks[2].is_device);
  EXPECT_EQ(rank.timeline.spans[2].bytes, 832);
  EXPECT_EQ(rank.timeline.events, 10u);
}

// Would fail if the fields beside the events were lost, before or after them.
TEST(ReplayKinetoRank, ReadsWhatStandsBesideTheEvents) {
  std::string info =
      R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [)"
      R"({"pg_name": "0", "ranks": []}, {"pg_name": "1", "ranks": [2, 3]}, {"pg_name": 5}]},)";
  for (bool is_behind : {false, true}) {
    std::string base = R"("baseTimeNanoseconds": 1000000000)";
    std::string text =
        kineto_text({{.begin = "2.5", .length = "1"}}, is_behind ? info : info + base + ",");
    if (is_behind) text = fmt::format("{},{}}}", text.substr(0, text.size() - 1), base);
    KinetoRank rank = rank_from(text);
    EXPECT_EQ(rank.rank, 3);
    EXPECT_EQ(rank.world_size, 8);
    EXPECT_EQ(rank.groups,
              (std::map<std::string, std::vector<std::int64_t>>{{"0", {}}, {"1", {2, 3}}}));
    EXPECT_EQ(rank.times.at(0).begin_ns, 1000002500);
    EXPECT_EQ(rank.times.at(0).end_ns, 1000003500);
  }
  KinetoRank bare = rank_from(kineto_text({}));
  EXPECT_EQ(bare.rank, std::nullopt);
  EXPECT_EQ(bare.world_size, 0);
}

TEST(ReplayKinetoRank, KnowsNcclsKernels) {
  EXPECT_TRUE(is_collective_kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"));
  EXPECT_TRUE(is_collective_kernel("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)"));
  EXPECT_FALSE(is_collective_kernel("nccl:all_reduce"));
  EXPECT_FALSE(is_collective_kernel("gemm"));
}

struct KinetoRefusal {
  std::string rule;
  std::string message;
};

KinetoRefusal kineto_refusal(std::string_view text) {
  try {
    rank_from(text);
  } catch (const BadTrace& bad) {
    return {bad.rule(), bad.what()};
  }
  return {};
}

// Would fail if a file that can't be a timeline were read as one, or if the message didn't say
// where.
TEST(ReplayKinetoRank, RefusesWhatIsNoTimeline) {
  EXPECT_EQ(kineto_refusal("").rule, "json");
  EXPECT_EQ(kineto_refusal("3").rule, "top_level");
  EXPECT_THAT(kineto_refusal("{}").message, HasSubstr("expected a list 'traceEvents', got none"));
  EXPECT_EQ(kineto_refusal(R"({"traceEvents": 3})").rule, "top_level");
  EXPECT_EQ(kineto_refusal(R"({"traceEvents": [{]})").rule, "json");
  EXPECT_THAT(kineto_refusal(R"({"traceEvents": [{}, 7]})").message,
              HasSubstr("rank.json: entry 1 of 'traceEvents', byte 21: expected an object"));
  EXPECT_EQ(kineto_refusal(R"({"traceEvents": [7]})").rule, "event");
  EXPECT_EQ(kineto_refusal(kineto_text({{.begin = "null"}})).rule, "event");
  EXPECT_EQ(kineto_refusal(kineto_text({}, R"("baseTimeNanoseconds": "x",)")).rule, "top_level");
  EXPECT_EQ(kineto_refusal(kineto_text({}, R"("baseTimeNanoseconds": -5,)")).rule, "top_level");
  EXPECT_EQ(kineto_refusal(kineto_text({}, R"("baseTimeNanoseconds": 4000000000000000001,)")).rule,
            "top_level");
  for (const char* info : {R"({"rank": -1})", R"({"rank": 10000000})", R"({"world_size": -2})",
                           R"({"world_size": 10000001})"})
    EXPECT_THAT(
        kineto_refusal(kineto_text({}, fmt::format("\"distributedInfo\": {},", info))).message,
        HasSubstr("field 'distributedInfo': expected a rank of at most 10000000 ranks"));
}

// Would fail if a bare list of events, which Chrome and older profilers write, were refused.
TEST(ReplayKinetoRank, ReadsABareList) {
  std::string text = kineto_text({{.begin = "3"}, {.begin = "5"}});
  std::size_t begin = text.find('['), end = text.rfind(']');
  KinetoRank rank = rank_from(text.substr(begin, end + 1 - begin));
  ASSERT_EQ(rank.times.size(), 2u);
  EXPECT_EQ(rank.times[1].begin_ns, 5000);
}

// Would fail if repairs weren't counted, or events of unknown categories passed without a word.
TEST(ReplayKinetoRank, CountsWhatIsNotAsItShouldBe) {
  KinetoRank rank = rank_from(kineto_text({{.arguments = R"("bandwidth": inf)"},
                                           {.length = "-1"},
                                           {.category = "mtia_ops"},
                                           {.category = "mtia_ops"}}));
  EXPECT_EQ(rank.repairs.not_finite, 1);
  EXPECT_EQ(rank.unfinished, 1);
  EXPECT_EQ(rank.timeline.other_categories.at("mtia_ops"), 2u);
}

// Would fail if a file that is cut off anywhere were read as a whole one.
TEST(ReplayKinetoRank, RefusesAFileThatIsCutOff) {
  std::string text = kineto_text({{.arguments = R"("stream": 7, "grid": [1, 2])"}, {}});
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_EQ(kineto_refusal(std::string_view(text).substr(0, size)).rule, "json") << size;
  EXPECT_EQ(kineto_refusal(text).rule, "");
}

}  // namespace

}  // namespace simmesh::replay
