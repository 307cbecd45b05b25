#include "replay/run/comm_cost.h"

#include <gtest/gtest.h>

#include "tests/replay/run/hand_job.h"
#include "tests/replay/run/recorded_jobs.h"

namespace simmesh::replay {

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

// A job of one collective whose sides are given by rank.
double cost_of(const std::vector<samples::HandComm>& ranks, const Topology& topology,
               const CommChoices& choices = {}) {
  samples::HandJob job(std::int64_t(ranks.size()));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) job.comm(std::int64_t(rank), ranks[rank]);
  ReplayProgram program = job.program();
  return comm_us(program, meetings_of(program).collectives.at(0), topology, choices);
}

samples::HandComm costed(const std::string& name, std::int64_t in, std::int64_t out) {
  return {.name = name,
          .inputs = {{.storage = 1, .elements = in}},
          .outputs = {{.storage = 2, .elements = out}}};
}

// Would fail if a collective were priced as another one, or by the wrong one of its sizes.
TEST(CommCost, FollowsTheTopologysFormulas) {
  Topology topology{.devices_per_host = 4};
  Link link = topology.link_among(0, 3);
  std::int64_t elements = 1 << 20;
  double bytes = double(elements) * 4;
  auto four = [&](const char* name, std::int64_t in, std::int64_t out) {
    return cost_of(std::vector<samples::HandComm>(4, costed(name, in, out)), topology);
  };
  EXPECT_EQ(four("allreduce", elements, elements), topology.all_reduce_us(bytes, 4, link));
  EXPECT_EQ(four("_allgather_base", elements, 4 * elements),
            topology.all_gather_us(4 * bytes, 4, link));
  EXPECT_EQ(four("_reduce_scatter_base", elements, elements / 4),
            topology.reduce_scatter_us(bytes, 4, link));
  EXPECT_EQ(four("reduce", elements, elements), topology.reduce_scatter_us(bytes, 4, link));
  EXPECT_EQ(four("broadcast", elements, elements), topology.all_gather_us(bytes, 4, link));
  EXPECT_DOUBLE_EQ(four("all_to_all", elements, elements), topology.all_to_all_us(bytes, 4, link));
  EXPECT_EQ(four("barrier", 0, 0), topology.all_reduce_us(0, 4, link));
}

// Would fail if members on several hosts got the fast links.
TEST(CommCost, HostsHaveSlowerLinksBetweenThem) {
  Topology one{.devices_per_host = 4}, two{.devices_per_host = 2};
  std::vector<samples::HandComm> ranks(4, costed("allreduce", 1000, 1000));
  EXPECT_EQ(cost_of(ranks, two), two.all_reduce_us(4000, 4, two.link_among(0, 3)));
  EXPECT_GT(cost_of(ranks, two), cost_of(ranks, one));
}

// Would fail if an uneven all-to-all cost less than its busiest rank needs.
TEST(CommCost, TheBusiestRankDecidesAnUnevenExchange) {
  ReplayProgram program = samples::recorded_program("dlrm_pytorch_et.tar.gz");
  JobMeetings meetings = meetings_of(program);
  // Rank 3 gets 8 * 1664 elements of int32, of which it sends 1664 to itself.
  EXPECT_DOUBLE_EQ(moved_bytes(program, meetings.collectives[3]), 7 * 1664 * 4);
  EXPECT_DOUBLE_EQ(moved_bytes(program, meetings.collectives[3], {.even_splits = true}),
                   3392 * 4 * 7.0 / 8);
  EXPECT_DOUBLE_EQ(moved_bytes(program, meetings.collectives[0]), 6144 * 4 * 7.0 / 8);
  EXPECT_DOUBLE_EQ(moved_bytes(program, meetings.collectives[4]), 394241 * 4 * 14.0 / 8);
}

TEST(CommCost, UnevenListsCountTheirOwnPart) {
  samples::HandJob job(2);
  auto piece = [](std::int64_t storage, std::int64_t elements) {
    return samples::HandTensor{.storage = storage, .elements = elements};
  };
  job.comm(0, {.name = "all_to_all",
               .inputs = {piece(1, 100), piece(2, 3)},
               .outputs = {piece(3, 100), piece(4, 5)}});
  job.comm(1, {.name = "all_to_all",
               .inputs = {piece(1, 5), piece(2, 50)},
               .outputs = {piece(3, 3), piece(4, 50)}});
  ReplayProgram program = job.program();
  EXPECT_DOUBLE_EQ(moved_bytes(program, meetings_of(program).collectives[0]), 5 * 4);
}

// Would fail if trees had other hops than the double binary tree, or changed collectives without a
// tree.
TEST(CommCost, TreesGoUpAndDown) {
  Topology topology{.devices_per_host = 8};
  CommChoices tree{.algorithm = CommAlgorithm::tree};
  std::vector<samples::HandComm> sums(5, costed("allreduce", 1000, 1000));
  EXPECT_DOUBLE_EQ(cost_of(sums, topology, tree), 6.6 + 6 * 0.6 + 2 * 4000 / gib / 87.7 * 1e6);
  std::vector<samples::HandComm> copies(5, costed("broadcast", 1000, 1000));
  EXPECT_DOUBLE_EQ(cost_of(copies, topology, tree), 6.6 + 3 * 0.6 + 4000 / gib / 87.7 * 1e6);
  std::vector<samples::HandComm> gathers(5, costed("_allgather_base", 1000, 5000));
  EXPECT_EQ(cost_of(gathers, topology, tree), cost_of(gathers, topology));
}

TEST(CommCost, MessagesCrossOneLink) {
  samples::HandJob job(2);
  job.comm(0, {.name = "send", .inputs = {{.storage = 1, .elements = 1000}}, .rank = 1});
  job.comm(1, {.name = "recv", .outputs = {{.storage = 1, .elements = 1000}}, .rank = 0});
  ReplayProgram program = job.program();
  Topology topology{.devices_per_host = 1};
  EXPECT_EQ(comm_us(program, meetings_of(program).messages.at(0), topology),
            topology.message_us(4000, topology.link_among(0, 1)));
}

}  // namespace

}  // namespace simmesh::replay
