#include "replay/timeline/link_launches.h"

#include <gtest/gtest.h>

#include "tests/replay/timeline/kineto_text.h"

namespace simmesh::replay {

namespace {

using testing::comm_arguments;
using testing::EventText;
using testing::kineto_text;
using testing::nccl_kernel;
using testing::timeline_from;

EventText host(std::string category, std::string name, int begin, int length,
               std::string arguments = {}) {
  return {.category = std::move(category),
          .name = std::move(name),
          .begin = std::to_string(begin),
          .length = std::to_string(length),
          .process = "100",
          .thread = "1",
          .arguments = std::move(arguments)};
}

std::string name_of_launcher(const RankTimeline& rank, std::string_view kernel) {
  for (const TimelineSpan& span : rank.spans)
    if (rank.text(span.name) == kernel)
      return span.launched_by ? std::string(rank.text(rank.spans[*span.launched_by].name)) : "";
  return "?";
}

// Would fail if a kernel went to the outer operator, to an annotation, to an operator of another
// thread, or, as the ids of PyTorch 2.0 invite, to the operator whose External id is its own.
TEST(ReplayLinkLaunches, FindsTheInnermostOperator) {
  EventText other = host("cpu_op", "aten::other", 0, 100, R"("External id": 7)");
  other.thread = "2";
  JobTimeline job = timeline_from(kineto_text(
      {other,
       host("cpu_op", "aten::linear", 0, 50),
       host("cpu_op", "aten::addmm", 10, 30),
       host("user_annotation", "inside", 12, 20),
       host("cuda_runtime", "cudaLaunchKernel", 14, 2, R"("correlation": 7, "External id": 7)"),
       host("cuda_runtime", "cudaLaunchKernel", 70, 2, R"("correlation": 8)"),
       {.name = "gemm", .begin = "60", .arguments = R"("correlation": 7, "External id": 7)"},
       {.name = "alone", .begin = "80", .arguments = R"("correlation": 8)"},
       {.name = "lost", .begin = "90", .arguments = R"("correlation": 9)"},
       {.name = "bare", .begin = "95"}}));
  const RankTimeline& rank = job.ranks.at(0);
  EXPECT_EQ(name_of_launcher(rank, "gemm"), "aten::addmm");
  EXPECT_EQ(name_of_launcher(rank, "alone"), "cudaLaunchKernel");
  EXPECT_EQ(name_of_launcher(rank, "lost"), "");
  EXPECT_EQ(name_of_launcher(rank, "bare"), "");
}

// Would fail if an operator that ended when the call began counted as one around it.
TEST(ReplayLinkLaunches, LeavesOutWhatHasEnded) {
  JobTimeline job = timeline_from(
      kineto_text({host("cpu_op", "aten::before", 0, 10),
                   host("cuda_runtime", "launch", 10, 2, R"("correlation": 7)"),
                   {.name = "gemm", .begin = "20", .arguments = R"("correlation": 7)"}}));
  EXPECT_EQ(name_of_launcher(job.ranks.at(0), "gemm"), "launch");
}

// Would fail if the kernel weren't the first source, the operator the second and the label the
// third.
TEST(ReplayLinkLaunches, KnowsACommunicationFromTheNearestSource) {
  std::vector<EventText> events = {
      host("user_annotation", "nccl:all_gather", 0, 20, R"("Input Dims": [[5]])"),
      host("cpu_op", "record_param_comms", 1, 18,
           comm_arguments("_allgather_base", "0", "[0, 1]", 2)),
      host("cuda_runtime", "launch", 4, 2, R"("correlation": 7)"),
      nccl_kernel("30", "4",
                  comm_arguments("allreduce", "0", "[0, 1]", 2) + R"(, "correlation": 7)")};
  auto first_comm = [&] { return timeline_from(kineto_text(events)).ranks.at(0).comms.at(0); };
  EXPECT_EQ(first_comm().name, "allreduce");
  events[3].arguments = R"("correlation": 7)";
  EXPECT_EQ(first_comm().name, "_allgather_base");
  EXPECT_EQ(first_comm().out_elements, 200);
  EXPECT_EQ(first_comm().item_bytes, 2);
  EXPECT_EQ(first_comm().issued_us, 4);
  events[1].arguments.clear();
  EXPECT_EQ(first_comm().name, "all_gather");
  EXPECT_EQ(first_comm().in_elements, 5);
  events[0].name = "other";
  EXPECT_EQ(first_comm().name, "");
  events[2].arguments.clear();
  EXPECT_EQ(first_comm().issued_us, std::nullopt);
}

// Would fail if the peer of a message were taken from a collective, whose rank is the own one.
TEST(ReplayLinkLaunches, KeepsThePeerOfAMessageAlone) {
  for (const char* name : {"send", "recv", "allreduce"}) {
    JobTimeline job =
        timeline_from(kineto_text({nccl_kernel("0", "1", comm_arguments(name, "0", "[0, 1]", 2))}));
    EXPECT_EQ(job.ranks.at(0).comms.at(0).peer, name == std::string("allreduce") ? -1 : 1);
    EXPECT_EQ(job.ranks.at(0).spans.at(0).bytes, 400);
  }
}

// Would fail if members were made up: without them a group is known only if it is the whole world.
TEST(ReplayLinkLaunches, FindsTheMembersOfAGroup) {
  auto members = [](std::string_view ranks, std::int64_t size, std::string_view more) {
    JobTimeline job = timeline_from(
        kineto_text({nccl_kernel("0", "1", comm_arguments("allreduce", "5", ranks, size))}, more));
    return job.groups.empty() ? std::vector<std::int64_t>() : job.groups[0].members;
  };
  using Members = std::vector<std::int64_t>;
  std::string world = R"("distributedInfo": {"rank": 0, "world_size": 3},)";
  EXPECT_EQ(members("[0, 2]", 2, world), (Members{0, 2}));
  EXPECT_EQ(members("", 3, world), (Members{0, 1, 2}));
  EXPECT_EQ(members("", 2, world), Members{});
  std::string groups = R"("distributedInfo": {"rank": 0, "world_size": 3, "pg_config": [)"
                       R"({"pg_name": "5", "ranks": [0, 1]}]},)";
  EXPECT_EQ(members("", 2, groups), (Members{0, 1}));
}

}  // namespace

}  // namespace simmesh::replay
