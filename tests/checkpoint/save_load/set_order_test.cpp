#include "checkpoint/save_load/set_order.h"

#include <gtest/gtest.h>
#include <numeric>
#include <utility>

namespace simmesh::checkpoint {
namespace {

using Numbers = std::vector<std::size_t>;

// CPython 3.11 printed these. Another order would put boxes into other files than PyTorch does.
TEST(SetOrder, IsThatOfCPython) {
  for (const auto& [added, order] : std::vector<std::pair<Numbers, Numbers>>{
           {{2, 8}, {8, 2}},
           {{4, 10}, {10, 4}},
           {{6, 8}, {8, 6}},
           {{16, 30}, {16, 30}},
           {{47, 60}, {60, 47}},
           {{1, 8, 60}, {8, 1, 60}},
           {{24, 29, 33, 60}, {24, 33, 60, 29}},
           {{19, 29, 49, 50, 60}, {49, 50, 19, 60, 29}},
           {{1, 2, 4, 10, 37, 42, 48, 49}, {1, 2, 4, 37, 10, 42, 48, 49}},
           {{7,   9,   24,  34,  55,  68,  77,  93,  99,  101,
             109, 113, 121, 126, 147, 152, 182, 184, 186, 199},
            {7,  9,   147, 152, 24, 34,  182, 55,  184, 186,
             68, 199, 77,  93,  99, 101, 109, 113, 121, 126}},
           {{7,   16,  22,  26,  31,  41,  54,  59,  66,  68,  71,  72,  77,  83,
             86,  88,  89,  98,  104, 107, 111, 123, 129, 136, 138, 145, 146, 149,
             155, 160, 162, 163, 167, 171, 172, 174, 178, 183, 188, 191},
            {129, 7,   136, 138, 16,  145, 146, 149, 22,  26,  155, 31,  160, 162,
             163, 167, 41,  171, 172, 174, 178, 54,  183, 59,  188, 191, 66,  68,
             71,  72,  77,  83,  86,  88,  89,  98,  104, 107, 111, 123}}})
    EXPECT_EQ(set_order(added), order);
  Numbers all(1000);
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_EQ(set_order(all), all) << "ranks without a gap";
  EXPECT_EQ(set_order({}), Numbers());
}

}  // namespace
}  // namespace simmesh::checkpoint
