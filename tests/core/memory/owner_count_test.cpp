#include "core/memory/owner_count.h"

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace simmesh {
namespace {

struct Owned : boost::intrusive_ref_counter<Owned, OwnerCount> {
  explicit Owned(std::atomic<int>& count) : ended(count) {}
  ~Owned() { ++ended; }

  std::atomic<int>& ended;
};
using OwnedPtr = boost::intrusive_ptr<Owned>;

// If this fails, an object that still has an owner ends, or one without owners stays.
TEST(OwnerCount, TheLastOwnerEndsIt) {
  std::atomic<int> ended = 0;
  OwnedPtr first(new Owned(ended));
  OwnedPtr second = first;
  EXPECT_EQ(first->use_count(), 2u);
  first.reset();
  EXPECT_EQ(ended, 0);
  second.reset();
  EXPECT_EQ(ended, 1);
}

// If this fails, owners of several threads lose each other's changes of the count.
TEST(OwnerCount, ThreadsShareTheCount) {
  std::atomic<int> ended = 0;
  std::atomic<std::int64_t> sum = 0;
  constexpr int threads = 4, times = 20'000;
  OwnedPtr shared(new Owned(ended));
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i)
      running.emplace_back([own = shared, &sum]() mutable {
        EXPECT_FALSE(is_single_threaded());
        for (int time = 0; time < times; ++time) {
          // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): the count is tested.
          OwnedPtr copy = own;
          add_shared(sum, std::int64_t(3));
        }
        own.reset();
      });
  }
  EXPECT_EQ(shared->use_count(), 1u);
  EXPECT_EQ(sum, std::int64_t(3) * threads * times);
  EXPECT_EQ(ended, 0);
  shared.reset();
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace simmesh
