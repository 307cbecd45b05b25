#include "replay/validate/compare_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/validate/made_view.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using testing::MadeComm;
using testing::MadeTrace;

using PartMatrix = std::vector<std::vector<std::int64_t>>;

// Returns how many elements each rank sends to each: 10 and more, and no two alike.
PartMatrix sent_by(std::size_t size) {
  PartMatrix matrix(size, std::vector<std::int64_t>(size));
  for (std::size_t s = 0; s < size; ++s)
    for (std::size_t r = 0; r < size; ++r) matrix[s][r] = std::int64_t(10 + 5 * s * size + r);
  return matrix;
}

PartMatrix transposed(const PartMatrix& matrix) {
  PartMatrix result = matrix;
  for (std::size_t s = 0; s < matrix.size(); ++s)
    for (std::size_t r = 0; r < matrix.size(); ++r) result[r][s] = matrix[s][r];
  return result;
}

std::int64_t part_total(const std::vector<std::int64_t>& parts) {
  std::int64_t sum = 0;
  for (std::int64_t part : parts) sum += part;
  return sum;
}

struct Compared {
  bool is_exchange = false;
  std::string text;
};

Compared compare_comms(const std::vector<MadeComm>& comms) {
  TraceJob job;
  for (std::size_t rank = 0; rank < comms.size(); ++rank)
    job.ranks.push_back(MadeTrace{std::int64_t(rank)}
                            .group("0", {}, std::int64_t(comms.size()))
                            .add(comms[rank])
                            .done());
  testing::MadeView made(job);
  GroupTraffic traffic = made.traffic().at(0);
  std::vector<MemberComm> members;
  for (const MemberComms& member : traffic.members)
    members.push_back({member.index, member.collectives.at(0)});
  Findings findings;
  bool is_exchange = compare_exchange(made.view, *traffic.group, members, findings);
  return {is_exchange, testing::findings_text(findings)};
}

std::string exchange_faults(const PartMatrix& sent, const PartMatrix& received) {
  std::vector<MadeComm> comms;
  for (std::size_t rank = 0; rank < sent.size(); ++rank)
    comms.push_back({.name = "all_to_allv",
                     .in = {part_total(sent[rank])},
                     .out = {part_total(received[rank])},
                     .in_split = sent[rank],
                     .out_split = received[rank]});
  Compared compared = compare_comms(comms);
  EXPECT_TRUE(compared.is_exchange);
  return compared.text;
}

TEST(CompareExchange, TransposedSplitsFit) {
  for (std::size_t size = 1; size <= 4; ++size)
    EXPECT_EQ(exchange_faults(sent_by(size), transposed(sent_by(size))), "");
}

// Exchanges two parts of one rank, in those that it sends or in those that it expects: that rank is
// blamed, whichever it is.
TEST(CompareExchange, BlamesTheRankThatDoesNotFit) {
  for (std::size_t size = 2; size <= 4; ++size)
    for (std::size_t rank = 0; rank < size; ++rank)
      for (std::size_t a = 0; a < size; ++a)
        for (std::size_t b = a + 1; b < size; ++b)
          for (bool is_sent : {true, false}) {
            PartMatrix sent = sent_by(size), received = transposed(sent);
            std::vector<std::int64_t>& row = (is_sent ? sent : received)[rank];
            std::swap(row[a], row[b]);
            std::string text = exchange_faults(sent, received);
            EXPECT_THAT(text, HasSubstr(fmt::format("error split_transpose: rank {} node 3 {}: ",
                                                    rank, is_sent ? "in_split" : "out_split")));
            EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
          }
}

TEST(CompareExchange, NamesBothSides) {
  PartMatrix sent = {{1, 2}, {3, 4}}, received = transposed(sent);
  received[0][1] = 7;
  EXPECT_EQ(exchange_faults(sent, received),
            "error split_transpose: rank 0 node 3 out_split: rank 1 node 3 sends 3 elements to "
            "rank 0, rank 0 node 3 expects 7 from rank 1; of 1 other ranks 0 expect something else "
            "from it and 1 send it something else\n");
}

// One side may leave out its splits where they are equal.
TEST(CompareExchange, EmptySplitsAreEqualParts) {
  MadeComm without{.name = "all_to_allv", .in = {8}, .out = {8}};
  MadeComm with = without;
  with.in_split = with.out_split = {4, 4};
  EXPECT_EQ(compare_comms({without, with}).text, "");
  with.in_split = {3, 5};
  EXPECT_THAT(compare_comms({without, with}).text,
              HasSubstr("error split_transpose: rank 1 node 3"));
  EXPECT_FALSE(compare_comms({without, without}).is_exchange);
}

TEST(CompareExchange, ListsHaveTheSizesOfTheOthers) {
  auto gather = [](std::int64_t own, std::vector<std::int64_t> list) {
    return MadeComm{.name = "all_gather", .in = {own}, .out = std::move(list)};
  };
  EXPECT_EQ(compare_comms({gather(1, {1, 2, 3}), gather(2, {1, 2, 3}), gather(3, {1, 2, 3})}).text,
            "");
  EXPECT_THAT(
      compare_comms({gather(1, {1, 2, 3}), gather(2, {1, 2, 3}), gather(4, {1, 2, 4})}).text,
      HasSubstr("error size_relation: rank 2 node 3 inputs: rank 2 node 3 sends 4 elements "
                "to rank 0, rank 0 node 3 expects 3 from rank 2"));
  auto scatter = [](std::vector<std::int64_t> list, std::int64_t own) {
    return MadeComm{.name = "reduce_scatter", .in = std::move(list), .out = {own}};
  };
  EXPECT_EQ(
      compare_comms({scatter({1, 2, 3}, 1), scatter({1, 2, 3}, 2), scatter({1, 2, 3}, 3)}).text,
      "");
  EXPECT_THAT(
      compare_comms({scatter({1, 2, 3}, 1), scatter({1, 2, 3}, 2), scatter({1, 2, 4}, 4)}).text,
      HasSubstr("error size_relation: rank 2 node 3 outputs"));
}

}  // namespace
}  // namespace simmesh::replay
