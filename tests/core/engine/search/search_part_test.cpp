#include "core/engine/search/search_part.h"

#include <gtest/gtest.h>

#include "core/engine/run/shared.h"
#include "core/engine/search/order_policy.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

// Racers runs a world in which each rank uses one object.
class Racers {
 public:
  explicit Racers(std::size_t ranks)
      : world_({.ranks = ranks,
                .schedule = Schedule::custom("order", [this](std::size_t, std::uint64_t) {
                  return std::make_unique<OrderPolicy>(*notes_);
                })}) {}

  OrderedRun run(const EventOrder& order) {
    OrderPolicy::Notes notes(order, known_);
    notes_ = &notes;
    Shared<int> object("object", 0);
    OrderedRun ran{.outcome = world_.run([&](Rank& rank) {
      rank.record(std::uint64_t(object.use([](int& value) { return value++; })));
    })};
    ran.next = next_orders(notes.run);
    ran.learned = notes.learned;
    return ran;
  }

 private:
  KnownOrders known_;
  OrderPolicy::Notes* notes_ = nullptr;
  World world_;
};

// If this fails, a long search needs more memory than a short one.
TEST(SearchPart, KeepsFewOrdersHoweverManyClassesThereAre) {
  std::uint64_t factorial = 1;
  for (std::size_t ranks = 1; ranks <= 6; ++ranks) {
    factorial *= ranks;
    Racers racers(ranks);
    SearchPart part({WaitingOrder{}});
    SearchFindings findings;
    std::size_t waiting_max = 0;
    std::uint64_t hash = racers.run({}).outcome.data_hash;
    while (!part.empty()) {
      part.run(
          1, [&](const EventOrder& order) { return racers.run(order); }, {}, hash, findings);
      waiting_max = std::max(waiting_max, part.size());
    }
    EXPECT_EQ(findings.classes, factorial);
    EXPECT_LE(waiting_max, 1 + ranks * ranks);
    EXPECT_NEAR(findings.share_done, 1, 1e-9);  // sums of rounded parts
    EXPECT_EQ(findings.failed.has_value(), ranks > 1);
  }
}

// If this fails, the parts of a search leave out a class or run one twice.
TEST(SearchPart, HalvesFindTogetherWhatTheWholeFinds) {
  Racers racers(5);
  auto run = [&](const EventOrder& order) { return racers.run(order); };
  std::uint64_t hash = racers.run({}).outcome.data_hash;
  std::vector<SearchPart> parts{SearchPart({WaitingOrder{}})};
  SearchFindings findings;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    while (!parts[i].empty()) {
      parts[i].run(3, run, {}, hash, findings);
      if (parts.size() < 20 && parts[i].size() > 1) {
        SearchPart half = parts[i].split_off();
        parts.push_back(std::move(half));
      }
    }
  }
  EXPECT_EQ(parts.size(), 20u);
  EXPECT_EQ(findings.classes, 120u);
  ASSERT_TRUE(findings.failed);
  EXPECT_EQ(findings.failed->size(), 2u) << "one pair of uses in the other order";
}

// If this fails, a run counts that was made with too little knowledge.
TEST(SearchPart, EndsAtARunThatShowsMore) {
  SearchPart part({WaitingOrder{}});
  SearchFindings findings;
  KnownOrders more = part.run(
      9,
      [](const EventOrder&) {
        OrderedRun ran;
        ran.learned.kept.insert(7);
        return ran;
      },
      {}, 0, findings);
  EXPECT_EQ(more.kept.count(7), 1u);
  EXPECT_EQ(findings.classes, 0u);
  EXPECT_EQ(part.size(), 1u);
}

TEST(SearchFindings, KeepTheFailureOfTheShortestOrder) {
  SearchFindings one, other;
  one.note({0, 1, 2}, {.data_hash = 3}, 4);
  other.note({2, 1}, {.data_hash = 5}, 4);
  other.note({2, 3}, {.data_hash = 6}, 4);
  one.add(other);
  EXPECT_EQ(one.failed, (EventOrder{2, 1}));
  EXPECT_EQ(one.classes, 3u);
  EXPECT_FALSE(one.one_data_hash);
}

}  // namespace
}  // namespace simmesh
