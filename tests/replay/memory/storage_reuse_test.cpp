#include "replay/memory/storage_reuse.h"

#include <gtest/gtest.h>

namespace simmesh::replay {

namespace {

// ReuseOf looks at one view after another.
struct ReuseOf {
  StorageReuse reuse;

  bool sees(std::size_t node, bool is_input, std::int64_t item_bytes, std::int64_t end_bytes) {
    TraceTensor view;
    view.item_bytes = item_bytes;
    return reuse.is_new_memory(view, end_bytes, is_input, node);
  }
};

// Would fail if an id that comes back with another item size counted as the same memory.
TEST(ReplayStorageReuse, NoticesAnotherItemSize) {
  ReuseOf storage;
  EXPECT_FALSE(storage.sees(0, false, 4, 40));
  EXPECT_FALSE(storage.sees(1, true, 4, 40));
  EXPECT_TRUE(storage.sees(2, false, 8, 40));
  EXPECT_FALSE(storage.sees(3, true, 8, 40));
  EXPECT_TRUE(storage.sees(4, false, 4, 40));
}

// Would fail if a view beyond an operator's output counted as a part of it, or if a view beyond the
// first one of older memory, whose size nobody knows, counted as other memory.
TEST(ReplayStorageReuse, NoticesAViewBeyondTheEnd) {
  ReuseOf made, given;
  EXPECT_FALSE(made.sees(0, false, 4, 40));
  EXPECT_FALSE(made.sees(1, true, 4, 20));
  EXPECT_TRUE(made.sees(2, true, 4, 44));
  EXPECT_FALSE(made.sees(3, false, 4, 400));  // of the new one only a part was seen
  EXPECT_FALSE(given.sees(0, true, 4, 40));
  EXPECT_FALSE(given.sees(1, true, 4, 80));
}

// Would fail if an operator's changes of its own inputs counted: a view as another dtype, a resize.
TEST(ReplayStorageReuse, LeavesTheOwnInputsAlone) {
  ReuseOf storage;
  EXPECT_FALSE(storage.sees(0, false, 8, 40));
  EXPECT_FALSE(storage.sees(1, true, 8, 40));
  EXPECT_FALSE(storage.sees(1, false, 4, 40));
  EXPECT_FALSE(storage.sees(2, true, 4, 40));
  EXPECT_FALSE(storage.sees(3, true, 8, 40));
  EXPECT_FALSE(storage.sees(3, false, 8, 80));
  EXPECT_FALSE(storage.sees(4, true, 8, 80));
  EXPECT_TRUE(storage.sees(5, false, 8, 88));
}

// Would fail if several outputs of one operator that share memory counted as several memories.
TEST(ReplayStorageReuse, TakesTheFirstOperatorAsAWhole) {
  ReuseOf storage;
  EXPECT_FALSE(storage.sees(0, false, 4, 40));
  EXPECT_FALSE(storage.sees(0, false, 4, 80));
  EXPECT_FALSE(storage.sees(1, true, 4, 80));
  EXPECT_TRUE(storage.sees(2, true, 4, 84));
}

TEST(ReplayStorageReuse, LetsEmptyMemoryGrow) {
  ReuseOf storage;
  EXPECT_FALSE(storage.sees(0, false, 4, 0));
  EXPECT_FALSE(storage.sees(1, false, 4, 40));
  EXPECT_TRUE(storage.sees(2, false, 4, 44));
}

}  // namespace

}  // namespace simmesh::replay
