#include "core/engine/ordered_jobs.h"

#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>

#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

using Numbers = std::vector<std::uint64_t>;

// Worlds take different times, so results would come out of order without the queue.
std::uint64_t hash_of_world(std::uint64_t number) {
  World world({.ranks = 1 + std::size_t(number % 7) * 40, .schedule = Schedule::seeded(number)});
  return world
      .run([](Rank& rank) {
        for (int i = 0; i < 3; ++i) rank.run().yield(rank, CallSite::here());
      })
      .schedule_hash;
}

// If this fails, a result of explore or verify depends on --jobs.
TEST(OrderedJobs, TakesTheSameResultsInOrderForAnyNumberOfThreads) {
  Numbers expected;
  for (std::uint64_t i = 0; i < 200; ++i) expected.push_back(hash_of_world(i));
  for (std::size_t threads : {1u, 2u, 3u, 8u}) {
    Numbers taken;
    run_ordered<std::uint64_t>(
        {.count = expected.size(), .threads = threads}, [] { return hash_of_world; },
        [&](std::uint64_t i, std::uint64_t hash) {
          EXPECT_EQ(i, taken.size());
          taken.push_back(hash);
          return true;
        });
    EXPECT_EQ(taken, expected) << threads;
  }
}

// If this fails, work goes on after a failure, or the failure that is reported isn't the first.
TEST(OrderedJobs, StopsAtTheFirstOfSeveral) {
  for (std::size_t threads : {1u, 4u}) {
    std::atomic<std::uint64_t> begun = 0;
    Numbers taken;
    run_ordered<std::uint64_t>(
        {.count = 1'000'000, .threads = threads},
        [&] {
          return [&](std::uint64_t i) {
            ++begun;
            return i;
          };
        },
        [&](std::uint64_t i, std::uint64_t result) {
          taken.push_back(result);
          return i < 5;
        });
    EXPECT_EQ(taken, Numbers({0, 1, 2, 3, 4, 5}));
    EXPECT_LT(begun, 1000u);
  }
}

// If this fails, an error on a thread is lost or comes before earlier results.
TEST(OrderedJobs, ThrowsWhatAWorkerThrowsWhenItsNumberComes) {
  for (std::size_t threads : {1u, 3u}) {
    Numbers taken;
    auto make = [] {
      return [](std::uint64_t i) -> std::uint64_t {
        if (i >= 4) throw std::runtime_error(std::to_string(i));
        return i;
      };
    };
    auto take = [&](std::uint64_t, std::uint64_t result) {
      taken.push_back(result);
      return true;
    };
    try {
      run_ordered<std::uint64_t>({.count = 50, .threads = threads}, make, take);
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "4");
    }
    EXPECT_EQ(taken, Numbers({0, 1, 2, 3}));
  }
}

TEST(OrderedJobs, EndsWhenAskedTo) {
  for (std::size_t threads : {1u, 2u}) {
    Numbers taken;
    run_ordered<std::uint64_t>(
        {.count = 50, .threads = threads, .goes_on = [&] { return taken.size() < 3; }},
        [] { return [](std::uint64_t i) { return i; }; },
        [&](std::uint64_t, std::uint64_t result) {
          taken.push_back(result);
          return true;
        });
    EXPECT_EQ(taken, Numbers({0, 1, 2}));
  }
}

}  // namespace
}  // namespace simmesh
