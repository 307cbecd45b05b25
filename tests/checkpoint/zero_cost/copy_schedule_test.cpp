#include "checkpoint/zero_cost/copy_schedule.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

// For all lists of up to three ranges of up to three elements, the hooks copy what a serial walk
// over the elements gives each of them.
TEST(CopySchedule, CopiesEveryElementOnceInOrder) {
  for (int code = 0; code < 4 * 4 * 4; ++code)
    for (std::int64_t hooks = 1; hooks <= 4; ++hooks) {
      std::vector<CopyRange> ranges;
      std::vector<std::pair<std::size_t, std::int64_t>> elements;
      for (std::size_t i = 0; i < 3; ++i) {
        auto count = std::int64_t(code >> (2 * i) & 3);
        ranges.push_back({i % 2, 10 * std::int64_t(i), 10 * std::int64_t(i) + count});
        for (std::int64_t k = 0; k < count; ++k) elements.emplace_back(i % 2, 10 * i + k);
      }
      CopySchedule schedule(ranges, {.hook_capacity = hooks, .usage = 1.0});
      std::int64_t each = schedule.chunk_numel();
      EXPECT_EQ(schedule.total_numel(), std::int64_t(elements.size()));
      EXPECT_GE(each * hooks, schedule.total_numel());
      for (int round = 0; round < 2; ++round) {
        schedule.begin();
        std::size_t next = 0;
        for (std::int64_t hook = 0; hook < hooks; ++hook) {
          std::size_t before = next;
          for (const CopyRange& copy : schedule.next()) {
            ASSERT_LT(copy.begin, copy.end);
            for (std::int64_t k = copy.begin; k < copy.end; ++k) {
              ASSERT_LT(next, elements.size());
              ASSERT_EQ(elements[next++], std::pair(copy.buffer, k));
            }
          }
          ASSERT_EQ(next, std::min(elements.size(), before + std::size_t(each)));
        }
        ASSERT_TRUE(schedule.is_done());
        ASSERT_TRUE(schedule.next().empty());
      }
    }
}

TEST(CopySchedule, UsesAShareOfTheHooks) {
  std::vector<CopyRange> ranges = {{0, 0, 100}};
  for (auto [capacity, usage, chunks] :
       {std::tuple(4, 0.6, 2), {4, 1.0, 4}, {3, 0.3, 1}, {10, 0.55, 5}, {1, 0.1, 1}}) {
    CopySchedule schedule(ranges, {.hook_capacity = capacity, .usage = usage});
    EXPECT_EQ(schedule.chunks(), chunks) << capacity << " " << usage;
    EXPECT_EQ(schedule.chunk_numel(), (100 + chunks - 1) / chunks);
  }
}

TEST(CopySchedule, RefusesWhatMakesNoSense) {
  auto problem = [](const std::vector<CopyRange>& ranges, const CopySchedule::Options& options) {
    return simmesh::testing::error_text([&] { CopySchedule(ranges, options); });
  };
  EXPECT_THAT(problem({}, {.hook_capacity = 0}), HasSubstr("expected at least one hook, got 0"));
  for (double usage : {0.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THAT(problem({}, {.hook_capacity = 1, .usage = usage}),
                HasSubstr("expected a usage within (0, 1]"));
  EXPECT_THAT(problem({{0, 5, 4}}, {}),
              HasSubstr("ranges that don't end before they begin, got [5, 4)"));
}

}  // namespace
}  // namespace simmesh::checkpoint
