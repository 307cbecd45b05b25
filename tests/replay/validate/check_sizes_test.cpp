#include "replay/validate/check_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using testing::MadeComm;
using testing::MadeTrace;

using SplitList = std::vector<std::int64_t>;

// The findings about one communication of rank 1 of three.
std::string size_faults(const MadeComm& made, std::int64_t size = 3) {
  TraceJob job = testing::made_job(MadeTrace(1).group("0", {}, size).add(made));
  Findings findings;
  JobGroups groups = resolve_groups(job, findings);
  JobView view(job, groups);
  bool is_well = check_sizes(view, {}, findings);
  EXPECT_EQ(is_well, findings.empty());
  return testing::findings_text(findings);
}

// Which of all pairs of up to 12 elements in and out a kind takes.
TEST(CheckSizes, InputsAndOutputsMustFit) {
  struct Relation {
    const char* name;
    bool (*holds)(std::int64_t in, std::int64_t out);
  };
  auto equal = [](std::int64_t in, std::int64_t out) { return in == out; };
  auto gathers = [](std::int64_t in, std::int64_t out) { return out == 3 * in; };
  auto scatters = [](std::int64_t in, std::int64_t out) { return in == 3 * out; };
  auto exchanges = [](std::int64_t in, std::int64_t out) { return in == out && in % 3 == 0; };
  auto any = [](std::int64_t, std::int64_t) { return true; };
  const Relation relations[] = {{"allreduce", equal},
                                {"allreduce_coalesced", equal},
                                {"broadcast", equal},
                                {"reduce", equal},
                                {"_allgather_base", gathers},
                                {"allgather_into_tensor_coalesced", gathers},
                                {"all_gather", gathers},
                                {"gather", gathers},
                                {"_reduce_scatter_base", scatters},
                                {"reduce_scatter_tensor_coalesced", scatters},
                                {"reduce_scatter", scatters},
                                {"scatter", scatters},
                                {"all_to_all", exchanges},
                                {"all_to_allv", exchanges},
                                {"send", any},
                                {"something_new", any}};
  for (const Relation& relation : relations)
    for (std::int64_t in = 0; in <= 12; ++in)
      for (std::int64_t out = 0; out <= 12; ++out) {
        std::string text = size_faults({.name = relation.name, .in = {in}, .out = {out}});
        EXPECT_EQ(text.empty(), relation.holds(in, out))
            << relation.name << " " << in << " to " << out << ": " << text;
        if (!text.empty()) {
          EXPECT_THAT(text, HasSubstr("error size_relation: rank 1 node 3"));
        }
      }
}

// Only the root of gather and scatter has a list.
TEST(CheckSizes, ASideMayBeEmpty) {
  EXPECT_EQ(size_faults({.name = "gather", .in = {4}, .out = {}}), "");
  EXPECT_EQ(size_faults({.name = "gather", .in = {4}, .out = {4, 4, 4}}), "");
  EXPECT_EQ(size_faults({.name = "scatter", .in = {}, .out = {4}}), "");
  EXPECT_EQ(size_faults({.name = "barrier", .in = {}, .out = {}}), "");
}

TEST(CheckSizes, UnevenListsMustFitTheOwnRank) {
  for (std::int64_t own = 0; own <= 6; ++own) {
    std::string gathered = size_faults({.name = "all_gather", .in = {own}, .out = {2, 3, 4}});
    std::string scattered = size_faults({.name = "reduce_scatter", .in = {2, 3, 4}, .out = {own}});
    EXPECT_EQ(gathered.empty(), own == 3) << gathered;
    EXPECT_EQ(scattered.empty(), own == 3) << scattered;
  }
}

TEST(CheckSizes, ThereIsASplitForEachMember) {
  for (std::size_t length = 1; length <= 5; ++length) {
    MadeComm made{.name = "all_to_allv"};
    made.in_split.assign(length, 2);
    made.in = {std::int64_t(2 * length)};
    std::string text = size_faults(made);
    EXPECT_EQ(text.find("split_length") == std::string::npos, length == 3) << text;
  }
}

TEST(CheckSizes, SplitsAddUpToTheFirstDim) {
  auto exchange = [](SplitList in_split, SplitList out_split) {
    return MadeComm{
        .name = "all_to_allv", .in_split = std::move(in_split), .out_split = std::move(out_split)};
  };
  EXPECT_EQ(size_faults(exchange({1, 3, 4}, {8, 0, 0})), "");
  EXPECT_THAT(size_faults(exchange({1, 3, 4}, {8, 0, 1})),
              HasSubstr("error split_sum: rank 1 node 3 out_split: expected the splits that add up "
                        "to 8, got 9 from [8, 0, 1]"));
  EXPECT_THAT(size_faults(exchange({-1, 5, 4}, {8, 0, 0})), HasSubstr("expected positive splits"));
  EXPECT_THAT(size_faults(exchange({INT64_MAX, INT64_MAX, 10}, {8, 0, 0})), HasSubstr("split_sum"));
}

// Rows of a matrix are sent, not elements.
TEST(CheckSizes, SplitsOfAMatrixCountRows) {
  TraceJob job = testing::made_job(
      MadeTrace(0).group("0", {0, 1}).add({.name = "all_to_allv", .in = {8}, .in_split = {1, 3}}));
  ExecutionTrace& trace = job.ranks[0].trace;
  trace.numbers.insert(trace.numbers.end(), {4, 2});
  auto end = std::uint32_t(trace.numbers.size());
  trace.tensors[0].shape = {.begin = end - 2, .end = end};
  Findings findings;
  JobGroups groups = resolve_groups(job, findings);
  EXPECT_TRUE(check_sizes(JobView(job, groups), {}, findings)) << testing::findings_text(findings);
}

TEST(CheckSizes, SplitsOfAListAreItsElements) {
  EXPECT_EQ(size_faults({.name = "all_to_all",
                         .in = {1, 3, 4},
                         .out = {2, 3, 1},
                         .in_split = {1, 3, 4},
                         .out_split = {2, 3, 1}}),
            "");
}

}  // namespace
}  // namespace simmesh::replay
