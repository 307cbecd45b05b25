#include "replay/timeline/read_timeline.h"

#include <gmock/gmock.h>
#include <random>

#include "core/check/error.h"
#include "replay/analysis/collective_order.h"
#include "replay/analysis/comm_overlap.h"
#include "replay/analysis/comm_table.h"
#include "replay/analysis/critical_path.h"
#include "replay/analysis/skew.h"
#include "replay/analysis/step_times.h"
#include "replay/read/bad_trace.h"
#include "replay/read/unpack.h"
#include "tests/expect_error.h"
#include "tests/replay/packed.h"
#include "tests/replay/timeline/kineto_text.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {

namespace {

using simmesh::testing::error_text;
using testing::comm_arguments;
using testing::EventText;
using ::testing::HasSubstr;
using testing::kineto_text;
using testing::nccl_kernel;
using testing::TemporaryFolder;
using testing::timeline_from;

std::string of_rank(std::int64_t rank, const std::vector<EventText>& events,
                    std::int64_t base = 0) {
  return kineto_text(events, fmt::format(R"("distributedInfo": {{"rank": {}, "world_size": 4}}, )"
                                         R"("baseTimeNanoseconds": {},)",
                                         rank, base));
}

JobTimeline job_from(const std::vector<std::string>& paths) { return read_timelines(paths); }

// Would fail if ranks kept their own origins: the job begins with the first event of all.
TEST(ReplayReadTimeline, GivesAllRanksOneOrigin) {
  TemporaryFolder folder;
  folder.write("b.json", of_rank(2, {{.begin = "7.5", .length = "2"}}, 5000));
  folder.write("a.json", of_rank(3, {{.begin = "0.125", .length = "0.001"}}, 10000));
  JobTimeline job = job_from({folder.path().string()});
  EXPECT_EQ(job.world_size, 4);
  EXPECT_EQ(job.origin_ns, 10125);
  ASSERT_EQ(job.ranks.size(), 2u);
  EXPECT_EQ(job.ranks[0].rank, 2);
  EXPECT_EQ(job.ranks[0].spans.at(0).begin_us, 2.375);
  EXPECT_EQ(job.ranks[0].spans.at(0).end_us, 4.375);
  EXPECT_EQ(job.ranks[1].rank, 3);
  EXPECT_EQ(job.ranks[1].spans.at(0).begin_us, 0);
  EXPECT_EQ(job.ranks[1].spans.at(0).end_us, 0.001);
  EXPECT_THAT(job.ranks[1].file, HasSubstr("a.json"));
}

// Would fail if a packed file were read otherwise, or if a file that is no timeline were read.
TEST(ReplayReadTimeline, ReadsEachWayOfPacking) {
  std::string first = of_rank(0, {{}}), second = of_rank(1, {{}, {}});
  std::string trace = R"({"schema": "1.1.1", "nodes": []})";
  TemporaryFolder folder, other;
  folder.write("in/x.json.gz", testing::gzip(first));
  folder.write("y.json", second);
  folder.write("trace.json", trace);
  folder.write("notes.txt", "traceEvents");
  std::vector<std::string> paths = {
      folder.path().string(),
      other.write("job.tar.gz", testing::tar({{.name = "x.json", .bytes = first},
                                              {.name = "trace.json", .bytes = trace},
                                              {.name = "y.json", .bytes = second}}))};
  for (const std::string& path : paths) {
    JobTimeline job = job_from({path});
    ASSERT_EQ(job.ranks.size(), 2u) << path;
    EXPECT_EQ(job.ranks[0].spans.size(), 1u);
    EXPECT_EQ(job.ranks[1].spans.size(), 2u);
  }
  EXPECT_EQ(job_from({other.write("named.txt", first)}).ranks.size(), 1u);
}

// Would fail if the rank of a file's name were lost, or a time in it read as one.
TEST(ReplayReadTimeline, FindsRanksInNames) {
  TemporaryFolder folder;
  folder.write("worker1_step_12.1694128201556.pt.trace.json", kineto_text({{}}));
  folder.write("worker0_step_12.1694128201545.pt.trace.json", kineto_text({}));
  JobTimeline job = job_from({folder.path().string()});
  EXPECT_EQ(job.ranks[0].rank, 0);
  EXPECT_EQ(job.ranks[1].rank, 1);
  EXPECT_EQ(job.ranks[1].spans.size(), 1u);
  EXPECT_EQ(timeline_from(kineto_text({}), "trace_1694128201545.json").ranks[0].rank, 0);
  EXPECT_EQ(timeline_from(kineto_text({}), "trace_1694128201545.json").world_size, 1);
}

// Would fail if a span of gloo were an annotation, or had no group where its rank has one only.
TEST(ReplayReadTimeline, HasCommunicationsOfTheHost) {
  JobTimeline job =
      timeline_from(kineto_text({{.category = "user_annotation",
                                  .name = "gloo:all_reduce",
                                  .begin = "5",
                                  .length = "2",
                                  .arguments = R"("Input Dims": [[4]], "Input type": ["float"])"}},
                                R"("distributedInfo": {"rank": 0, "world_size": 2, "pg_config": )"
                                R"([{"pg_name": "0", "ranks": [0, 1]}]},)"));
  ASSERT_EQ(job.ranks[0].comms.size(), 1u);
  const TimelineComm& comm = job.ranks[0].comms[0];
  EXPECT_EQ(comm.name, "all_reduce");
  EXPECT_EQ(job.groups.at(comm.group.value()).members, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(job.ranks[0].span_of(comm).bytes, 16);
}

std::string timelines_refusal(const std::vector<std::string>& paths) {
  return error_text([&] { read_timelines(paths); });
}

TEST(ReplayReadTimeline, RefusesWhatIsNoJob) {
  TemporaryFolder folder;
  EXPECT_THAT(timelines_refusal({folder.path().string()}),
              HasSubstr("expected timelines with 'traceEvents'"));
  EXPECT_THAT(timelines_refusal({(folder.path() / "none.json").string()}), HasSubstr("none.json"));
  std::string a = folder.write("a.json", of_rank(1, {})),
              b = folder.write("b.json", of_rank(1, {}));
  EXPECT_THAT(timelines_refusal({a, b}),
              HasSubstr("expected one timeline of rank 1, got " + a + " and " + b));
  std::string c = folder.write("bare.json", kineto_text({}));
  EXPECT_THAT(timelines_refusal({a, c}),
              HasSubstr("expected a rank in the file or its name, got none"));
}

// Would fail if a step were counted again for the device, or not be found at all.
TEST(ReplayReadTimeline, FindsSteps) {
  JobTimeline job = timeline_from(kineto_text(
      {{.category = "user_annotation", .name = "ProfilerStep#11", .begin = "20", .length = "9"},
       {.category = "user_annotation", .name = "ProfilerStep#10", .begin = "5", .length = "7.5"},
       {.category = "gpu_user_annotation", .name = "ProfilerStep#10", .begin = "6"},
       {.category = "user_annotation", .name = "Optimizer.step", .begin = "7"}}));
  ASSERT_EQ(job.ranks[0].steps.size(), 2u);
  EXPECT_EQ(job.ranks[0].steps[0].name, "ProfilerStep#10");
  EXPECT_EQ(job.ranks[0].steps[0].length_us(), 7.5);
  EXPECT_EQ(job.ranks[0].steps[1].name, "ProfilerStep#11");
}

// Would fail if groups were told apart by name: each rank has its own "2", and the two groups of
// ranks 0 and 1 are the same ones under other names.
TEST(ReplayReadTimeline, JoinsGroupsByTheirMembers) {
  auto kernel = [](int begin, const char* group, const char* ranks) {
    return nccl_kernel(std::to_string(begin), "1", comm_arguments("allreduce", group, ranks, 2));
  };
  TemporaryFolder folder;
  folder.write("0.json", of_rank(0, {kernel(0, "2", "[0, 1]"), kernel(2, "10", "[0, 1]")}));
  folder.write("1.json", of_rank(1, {kernel(0, "7", "[0, 1]"), kernel(2, "3", "[0, 1]")}));
  folder.write("2.json", of_rank(2, {kernel(0, "2", "[2, 3]")}));
  folder.write("3.json", of_rank(3, {kernel(0, "2", "[2, 3]")}));
  JobTimeline job = job_from({folder.path().string()});
  ASSERT_EQ(job.groups.size(), 3u);
  EXPECT_EQ(job.groups[2].members, (std::vector<std::int64_t>{2, 3}));
  auto groups = [&](std::size_t rank) {
    std::vector<std::uint32_t> found;
    for (const TimelineComm& comm : job.ranks[rank].comms) found.push_back(*comm.group);
    return found;
  };
  EXPECT_EQ(groups(0), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(groups(1), (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(groups(2), groups(3));
}

// Would fail if the list of all groups didn't count: rank 1 communicates in its second one alone.
TEST(ReplayReadTimeline, CountsGroupsThatAreNotUsed) {
  std::string groups = R"("pg_config": [{"pg_name": "0", "ranks": [0, 1]}, )"
                       R"({"pg_name": "1", "ranks": [0, 1]}])";
  TemporaryFolder folder;
  for (int rank : {0, 1}) {
    std::vector<EventText> events = {
        nccl_kernel("5", "1", comm_arguments("allreduce", "1", "[0, 1]", 2))};
    if (rank == 0)
      events.push_back(nccl_kernel("0", "1", comm_arguments("allreduce", "0", "[0, 1]", 2)));
    folder.write(fmt::format("{}.json", rank),
                 kineto_text(events, fmt::format(R"("distributedInfo": {{"rank": {}, )"
                                                 R"("world_size": 2, {}}},)",
                                                 rank, groups)));
  }
  JobTimeline job = job_from({folder.path().string()});
  EXPECT_EQ(job.ranks[0].comms.at(1).group, job.ranks[1].comms.at(0).group);
}

// Would fail if the published job lost an event, a kernel or what kernels belong to.
TEST(ReplayReadTimeline, ReadsARealJob) {
  JobTimeline job = job_from({SIMMESH_SOURCE_DIR "/tests/cases/replay/dlrm_kineto.tar.gz"});
  ASSERT_EQ(job.ranks.size(), 8u);
  EXPECT_EQ(job.world_size, 8);
  EXPECT_EQ(job.ranks[0].events, 3290u);
  EXPECT_EQ(job.ranks[7].events, 3250u);
  for (const RankTimeline& rank : job.ranks) {
    EXPECT_EQ(rank.comms.size(), 8u);
    for (const TimelineComm& comm : rank.comms) {
      EXPECT_EQ(rank.tracks[rank.span_of(comm).track].name, "stream 84");
      EXPECT_EQ(rank.text(rank.spans[*rank.span_of(comm).launched_by].name), "record_param_comms");
      EXPECT_LE(*comm.issued_us, rank.span_of(comm).begin_us);
    }
    EXPECT_EQ(rank.comms[0].name, "all_to_all");
    EXPECT_EQ(rank.comms[0].in_elements, 6144);
    EXPECT_EQ(rank.comms[7].name, "all_reduce");
    EXPECT_EQ(rank.comms[7].in_elements, 226960);
    EXPECT_EQ(rank.comms[7].item_bytes, 4);
    std::size_t launched = 0, kernels = 0;
    for (const TimelineSpan& span : rank.spans) {
      kernels += span.kind == SpanKind::compute;
      launched += span.kind == SpanKind::compute && span.launched_by;
    }
    EXPECT_GT(launched, kernels * 7 / 10);
  }
}

void analyse_all(const JobTimeline& job) {
  std::vector<JobCollective> collectives = job_collectives(job);
  skew_of(job, collectives);
  bandwidth_of(job, collectives);
  comm_table(job, collectives);
  critical_path(job, collectives);
  reordered_collectives(job, collectives);
  step_times(job);
  for (const RankTimeline& rank : job.ranks) {
    comm_overlaps(rank);
    overtaken_comms(rank);
    exposed_parts(rank);
  }
}

std::string small_timeline() {
  return of_rank(
      1,
      {{.category = "user_annotation", .name = "ProfilerStep#3", .begin = "1", .length = "99"},
       {.category = "cpu_op",
        .name = "record_param_comms",
        .begin = "10",
        .length = "20",
        .thread = "9",
        .arguments = comm_arguments("all_to_allv", "0", "[0, 1, ..., 3]", 4)},
       {.category = "cuda_runtime",
        .name = "launch",
        .begin = "12",
        .thread = "9",
        .arguments = R"("correlation": 4)"},
       nccl_kernel("30.5", "7", R"("stream": 20, "correlation": 4)"),
       nccl_kernel("40", "7", comm_arguments("send", "1", "[0, 1]", 2)),
       {.begin = "33", .length = "2.25"},
       {.category = "gpu_memcpy", .begin = "50", .arguments = R"("bytes": 8)"}},
      1694128201426602000);
}

// Would fail if some nonsense ended the process, or came back as anything but a refusal or a
// timeline that can be analysed: bytes changed, taken away, repeated and put elsewhere.
TEST(ReplayReadTimeline, SurvivesNonsense) {
  const std::string whole = small_timeline();
  analyse_all(timeline_from(whole));
  constexpr std::string_view bytes =
      "{}[]\",:0123456789-+.eE\\ \n\0\xff"
      "anulltrue";
  std::mt19937_64 random(11);
  std::size_t refused = 0, read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    for (std::uint64_t edits = 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
      std::size_t place = random() % text.size();
      std::size_t length = std::min<std::size_t>(random() % 40, text.size() - place);
      switch (random() % 5) {
        case 0: text[place] = bytes[random() % bytes.size()]; break;
        case 1: text.erase(place, length); break;
        case 2: text.insert(random() % text.size(), text.substr(place, length)); break;
        case 3: text.insert(place, 1 + random() % 30, bytes[random() % bytes.size()]); break;
        default: text[place] = char(random()); break;
      }
    }
    try {
      analyse_all(timeline_from(text));
      ++read;
    } catch (const BadTrace&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000u);
  EXPECT_GT(read, 2000u);
}

}  // namespace

}  // namespace simmesh::replay
