#include "replay/validate/match_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/validate/made_view.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using testing::MadeComm;
using testing::MadeTrace;

MadeComm send_to(std::int64_t to, std::int64_t elements = 8) {
  return {.name = "send", .rank = to, .in = {elements}, .out = {elements}};
}
MadeComm recv_from(std::int64_t from, std::int64_t elements = 8) {
  return {.name = "recv", .rank = from, .in = {elements}, .out = {elements}};
}

std::string message_faults(const std::vector<std::vector<MadeComm>>& ranks, std::int64_t size = 0) {
  TraceJob job;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    MadeTrace made{std::int64_t(rank)};
    made.group("0", {}, std::max(size, std::int64_t(ranks.size())));
    for (const MadeComm& comm : ranks[rank]) made.add(comm);
    job.ranks.push_back(made.done());
  }
  testing::MadeView made(job);
  Findings findings;
  for (const GroupTraffic& traffic : made.traffic()) match_messages(made.view, traffic, findings);
  return testing::findings_text(findings);
}

TEST(MatchMessages, RingsMatch) {
  for (std::int64_t size = 2; size <= 4; ++size) {
    std::vector<std::vector<MadeComm>> ranks;
    for (std::int64_t rank = 0; rank < size; ++rank)
      ranks.push_back({send_to((rank + 1) % size), recv_from((rank + size - 1) % size)});
    EXPECT_EQ(message_faults(ranks), "");
  }
}

// All ways in which two ranks send and receive up to two messages each: the unmatched ones are
// found.
TEST(MatchMessages, FindsWhatIsLeftOver) {
  for (int sent = 0; sent <= 2; ++sent)
    for (int received = 0; received <= 2; ++received) {
      std::string text =
          message_faults({std::vector<MadeComm>(std::size_t(sent), send_to(1)),
                          std::vector<MadeComm>(std::size_t(received), recv_from(0))});
      std::string expected;
      if (sent > received)
        expected = fmt::format(
            "error p2p_unmatched: rank 0 node {} rank: rank 0 node {} sends that "
            "rank 1 never receives: {} sends and {} receives from rank 0 to "
            "rank 1 in the group of ranks [0, 1]\n",
            received + 3, received + 3, sent, received);
      if (sent < received)
        expected = fmt::format(
            "error p2p_unmatched: rank 1 node {} rank: rank 1 node {} receives "
            "that rank 0 never sends: {} sends and {} receives from rank 0 to "
            "rank 1 in the group of ranks [0, 1]\n",
            sent + 3, sent + 3, sent, received);
      EXPECT_EQ(text, expected);
    }
}

TEST(MatchMessages, PairsHaveOneSizeAndDtype) {
  EXPECT_THAT(message_faults({{send_to(1, 8), send_to(1, 4)}, {recv_from(0, 8), recv_from(0, 5)}}),
              HasSubstr("error size_relation: rank 1 node 4 outputs: expected 4 elements as rank 0 "
                        "node 4 sends them, got 5"));
  MadeComm other = recv_from(0);
  other.dtype = "Long";
  EXPECT_THAT(message_faults({{send_to(1)}, {other}}),
              HasSubstr("error dtype: rank 1 node 3 dtype: expected Float as rank 0 node 3 sends "
                        "it, got Long"));
}

TEST(MatchMessages, AReceiveFromAnyRankTakesWhatIsLeft) {
  MadeComm any = recv_from(-1);
  EXPECT_EQ(message_faults({{send_to(1), send_to(1)}, {recv_from(0), any}}), "");
  EXPECT_EQ(message_faults({{send_to(2)}, {send_to(2)}, {any, any}}), "");
  EXPECT_THAT(message_faults({{send_to(1)}, {recv_from(0), any}}),
              HasSubstr("rank 1 node 4 rank: a receive from any rank"));
  EXPECT_THAT(message_faults({{send_to(1), send_to(1)}, {any}}),
              HasSubstr("1 sends and 0 receives"));
}

TEST(MatchMessages, RanksWithoutATraceMatchAll) {
  EXPECT_EQ(message_faults({{send_to(2)}, {recv_from(2)}}, 3), "");
}

}  // namespace
}  // namespace simmesh::replay
