#include "replay/job/majority.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

// All lists of up to six of three values, compared with counting.
TEST(Majority, IsWhatMoreThanHalfSayElseTheFirst) {
  for (int length = 1; length <= 6; ++length) {
    int lists = 1;
    for (int i = 0; i < length; ++i) lists *= 3;
    for (int list = 0; list < lists; ++list) {
      std::vector<int> values;
      for (int i = 0, rest = list; i < length; ++i, rest /= 3) values.push_back(rest % 3);
      int expected = values.front();
      for (int value : {0, 1, 2})
        if (2 * std::count(values.begin(), values.end(), value) > length) expected = value;
      EXPECT_EQ(majority(values), expected) << "list " << list << " of " << length;
    }
  }
}

}  // namespace
}  // namespace simmesh::replay
