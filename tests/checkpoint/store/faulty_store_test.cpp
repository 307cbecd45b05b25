#include "checkpoint/store/faulty_store.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Fault = FaultyStore::Fault;

// Makes six operations that change something.
void write_and_rename(FaultyStore& store) {
  auto file = store.create("a");
  file->append(testing::bytes_of("four"));
  file->sync();
  store.sync_folder("");
  store.rename("a", "b");
  store.remove("c");
}

FaultyStore faulty(const MemoryStore& memory, Fault fault, std::int64_t operation) {
  return FaultyStore(std::make_shared<MemoryStore>(memory), {fault, operation});
}

TEST(FaultyStore, CountsWhatChangesSomething) {
  MemoryStore memory;
  FaultyStore store = faulty(memory, Fault::none, 0);
  write_and_rename(store);
  EXPECT_EQ(store.size("b"), 4);
  EXPECT_THAT(store.files(""), ElementsAre("b"));
  EXPECT_THAT(store.log(), ElementsAre("create a", "write a", "sync a", "sync the folder ",
                                       "rename a to b", "remove c"));
}

// The operation is done only if the machine stops after it. Nothing works any more in either case.
TEST(FaultyStore, StopsTheMachine) {
  for (Fault fault : {Fault::stop_before, Fault::stop_after})
    for (std::int64_t operation = 1; operation <= 6; ++operation) {
      MemoryStore memory;
      FaultyStore store = faulty(memory, fault, operation);
      EXPECT_THROW(write_and_rename(store), MachineStopped);
      EXPECT_EQ(store.operations(), operation);
      std::int64_t done = operation - (fault == Fault::stop_before ? 1 : 0);
      EXPECT_EQ(memory.size("a").has_value(), done >= 1 && done < 5) << done;
      EXPECT_EQ(memory.size("b").has_value(), done >= 5) << done;
      EXPECT_THROW(static_cast<void>(store.size("a")), MachineStopped);
      EXPECT_THROW(static_cast<void>(store.files("")), MachineStopped);
      EXPECT_THROW(store.remove("a"), MachineStopped);
      EXPECT_EQ(store.operations(), operation) << "a stopped machine counts nothing";
    }
}

TEST(FaultyStore, FailsOnceAndGoesOn) {
  MemoryStore memory;
  FaultyStore store = faulty(memory, Fault::fail, 5);
  EXPECT_THAT(error_text([&] { write_and_rename(store); }),
              HasSubstr("cannot rename a to b: the operation failed"));
  EXPECT_EQ(store.size("a"), 4);
  store.rename("a", "b");
  EXPECT_EQ(memory.size("b"), 4);
}

TEST(FaultyStore, WritesHalfAndFindsTheDiskFull) {
  MemoryStore half, full;
  FaultyStore store = faulty(half, Fault::short_write, 2);
  EXPECT_THAT(error_text([&] { write_and_rename(store); }),
              HasSubstr("cannot write a: not all bytes were written"));
  EXPECT_EQ(half.size("a"), 2);
  FaultyStore other = faulty(full, Fault::disk_full, 2);
  auto file = other.create("a");
  for (int i : {1, 2})
    EXPECT_THAT(error_text([&] { file->append(testing::bytes_of("four")); }),
                HasSubstr("cannot write a: no space left"))
        << i;
  EXPECT_THAT(error_text([&] { other.create("b"); }), HasSubstr("no space left"));
  other.remove("a");  // needs no space
  EXPECT_EQ(full.size("a"), std::nullopt);
}

}  // namespace
}  // namespace simmesh::checkpoint
