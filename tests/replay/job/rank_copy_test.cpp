#include "replay/job/rank_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

#include "core/check/error.h"
#include "tests/expect_error.h"
#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using simmesh::testing::error_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::made_job;
using testing::MadeTrace;

RankTrace copied(MadeTrace& made, std::int64_t rank) {
  TraceJob job = made_job(made);
  Findings findings;
  JobGroups groups = resolve_groups(job, findings);
  return copy_rank(job, groups, 0, rank);
}

std::string copy_refusal(MadeTrace& made, std::int64_t rank) {
  return error_text([&] { copied(made, rank); });
}

// In meshes of three dims each group is along one of them; the groups of all ranks to which one
// rank's groups are shifted must be those of the mesh.
TEST(RankCopy, GroupsAreThoseOfAMesh) {
  const std::int64_t sizes[] = {2, 3, 2};
  const std::int64_t strides[] = {6, 2, 1};
  constexpr std::int64_t world_size = 12;
  for (int dim = 0; dim < 3; ++dim) {
    auto group_of = [&](std::int64_t rank) {
      std::vector<std::int64_t> members;
      std::int64_t own = rank / strides[dim] % sizes[dim];
      for (std::int64_t i = 0; i < sizes[dim]; ++i)
        members.push_back(rank + (i - own) * strides[dim]);
      return members;
    };
    for (std::int64_t from = 0; from < world_size; ++from)
      for (std::int64_t to = 0; to < world_size; ++to)
        EXPECT_EQ(shifted_members(group_of(from), from, to, world_size), group_of(to))
            << "dim " << dim << " from " << from << " to " << to;
  }
}

TEST(RankCopy, GroupsMustCutTheWorldEvenly) {
  for (const std::vector<std::int64_t>& members :
       {std::vector<std::int64_t>{0, 1, 3}, {1, 2}, {0, 4}, {1, 0}, {0, 1, 2, 3, 4}})
    EXPECT_THROW(shifted_members(members, members[0], 5, 6), Error)
        << ::testing::PrintToString(members);
  EXPECT_THAT(shifted_members({3}, 3, 5, 6), ElementsAre(5));
}

TEST(RankCopy, RenamesTheDeviceWithTheRanksNumber) {
  MadeTrace made(1);
  made.group("0", {}, 12).op("aten::relu", 4);
  for (const char* device : {"cuda:1", "cpu", "cuda:11", "cuda:0"}) {
    made.op("aten::relu", 4);
    made.trace().tensors.back().device = made.trace().texts.id_of(device);
  }
  RankTrace copy = copied(made, 3);
  std::vector<std::string> devices;
  for (const TraceTensor& tensor : copy.trace.tensors)
    devices.emplace_back(copy.trace.text(tensor.device));
  EXPECT_THAT(devices, ElementsAre("cuda:3", "cuda:3", "cpu", "cuda:11", "cuda:0"));
  EXPECT_EQ(copy.rank, 3);
}

TEST(RankCopy, SetsTheOwnRankAndKeepsRoots) {
  MadeTrace made(2);
  made.group("0", {}, 4).group("1", {2, 3});
  made.wait(0, 2);
  made.add({.group = "1", .rank = 0}).figures(2, 1, 2).attribute("global_rank_start", 2);
  made.add({.name = "broadcast", .rank = 1});
  made.add({.name = "barrier", .rank = 2, .in = {}, .out = {}});
  RankTrace copy = copied(made, 1);
  const ExecutionTrace& trace = copy.trace;
  EXPECT_THAT(trace.process_groups[1].ranks, ElementsAre(0, 1));
  EXPECT_EQ(trace.comms[0].rank, 1);
  EXPECT_EQ(trace.comms[1].rank, 1);
  EXPECT_EQ(trace.comms[1].global_rank_start, 0);
  EXPECT_EQ(std::get<std::int64_t>(trace.attributes[0].value), 0);
  EXPECT_EQ(trace.comms[2].rank, 1);
  EXPECT_EQ(trace.comms[3].rank, 1);
}

TEST(RankCopy, ShiftsTheRing) {
  for (std::int64_t size : {2, 3, 4})
    for (std::int64_t to = 1; to < size; ++to) {
      MadeTrace made(0);
      made.group("0", {}, size);
      made.add({.name = "send", .rank = 1}).add({.name = "recv", .rank = size - 1});
      RankTrace copy = copied(made, to);
      EXPECT_EQ(copy.trace.comms[0].rank, (to + 1) % size);
      EXPECT_EQ(copy.trace.comms[1].rank, (to + size - 1) % size);
    }
}

TEST(RankCopy, RefusesMessagesThatAreNoRing) {
  MadeTrace pipeline(0);
  pipeline.group("0", {}, 4).add({.name = "send", .rank = 1});
  EXPECT_THAT(copy_refusal(pipeline, 1),
              HasSubstr("the send at node 3 is one of messages that don't "
                        "form a ring"));
  MadeTrace sizes(0);
  sizes.group("0", {}, 4).add({.name = "send", .rank = 1});
  sizes.add({.name = "recv", .rank = 3, .in = {9}, .out = {9}});
  EXPECT_THAT(copy_refusal(sizes, 1), HasSubstr("don't form a ring"));
}

TEST(RankCopy, RefusesWhatDiffersAtTheRoot) {
  for (const char* name : {"gather", "scatter"}) {
    MadeTrace made(0);
    made.group("0", {}, 2).add({.name = name});
    EXPECT_THAT(copy_refusal(made, 1), HasSubstr("differs between the root and the others"));
  }
}

TEST(RankCopy, RefusesUnevenListsAndSplits) {
  MadeTrace list(0);
  list.group("0", {}, 2).add({.name = "all_gather", .in = {4}, .out = {4, 5}});
  EXPECT_THAT(copy_refusal(list, 1),
              HasSubstr("tensors of 4 elements for one of both ranks and 5"));
  MadeTrace splits(0);
  splits.group("0", {}, 3);
  splits.add({.name = "all_to_allv", .in_split = {3, 4, 1}, .out_split = {3, 4, 1}});
  EXPECT_THAT(copy_refusal(splits, 1), HasSubstr("the all_to_allv at node 3 has uneven splits"));
}

TEST(RankCopy, KeepsEvenSplitsAndLists) {
  MadeTrace made(0);
  made.group("0", {}, 2).add({.name = "all_gather", .in = {4}, .out = {4, 4}});
  made.add({.name = "all_to_allv", .in_split = {4, 4}, .out_split = {4, 4}});
  RankTrace copy = copied(made, 1);
  EXPECT_THAT(copy.trace.numbers_in(copy.trace.comms[1].in_split), ElementsAre(4, 4));
}

}  // namespace
}  // namespace simmesh::replay
