#include "sharding/redistribute/bounded_cache.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

struct Square {
  int request;
  int value;
};

// A full cache drops the entry that was just used, grows, or answers with an entry of the same
// hash.
TEST(BoundedCache, KeepsTheNewestAndTellsRequestsOfOneHashApart) {
  BoundedCache<Square> cache(2);
  auto ask = [&](int number) {
    if (auto known = cache.find(number, 0)) return known->value;
    cache.keep(std::make_shared<const Square>(Square{number, number * number}), 0);
    return -1;
  };
  EXPECT_EQ(ask(3), -1);
  EXPECT_EQ(ask(4), -1);
  EXPECT_EQ(ask(3), 9);
  EXPECT_EQ(ask(5), -1);
  EXPECT_EQ(ask(3), 9);
  EXPECT_EQ(ask(4), -1);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.hits(), 2u);
  EXPECT_EQ(cache.misses(), 4u);
  EXPECT_EQ(cache.entries().front()->value, 16);
}

}  // namespace
}  // namespace simmesh
