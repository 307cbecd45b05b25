#include "zero/stage3/file_store.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

std::string test_folder() { return ::testing::TempDir(); }

// Bytes leave the ledger, and come back as they were, with more tensors than buffers.
SIMMESH_TEST(FileStore, KeepsElementsAndGivesMemoryBack, {.mesh = {3}, .schedules = 6}) {
  FileStore store({.folder = test_folder(), .buffer_count = 2});
  auto seed = std::uint64_t(100 * mesh.get_rank());
  std::vector<Tensor> tensors;
  for (std::uint64_t i = 0; i < 6; ++i)
    tensors.push_back(
        formula({std::int64_t(5 + 7 * i)}, {.rule = Rule::unit, .seed = seed + i}).clone());
  std::int64_t before = Ledger::active()->total().current;
  for (const Tensor& tensor : tensors) store.park(tensor);
  EXPECT_EQ(before - Ledger::active()->total().current, (6 * 5 + 7 * 15) * 4);
  store.prefetch(tensors[3]);
  for (std::uint64_t i = 0; i < 6; ++i) {
    store.fetch(tensors[i]);
    Tensor expected = formula({std::int64_t(5 + 7 * i)}, {.rule = Rule::unit, .seed = seed + i});
    EXPECT_SAME_BITS(tensors[i], expected);
  }
  EXPECT_EQ(Ledger::active()->total().current, before);
  EXPECT_EQ(store.traffic().bytes_written, (6 * 5 + 7 * 15) * 4);
  EXPECT_EQ(store.traffic().bytes_read, store.traffic().bytes_written);
}

// A tensor that changes between two parks comes back with its last elements, in the same place.
SIMMESH_TEST(FileStore, WritesAgain, {.mesh = {1}, .schedules = 1}) {
  FileStore store({.folder = test_folder()});
  Tensor tensor = formula({9}, {.rule = Rule::unit, .seed = 1}).clone();
  for (float value : {1.0f, 2.0f, 3.0f}) {
    store.park(tensor);
    store.park(tensor);
    store.prefetch(tensor);
    store.fetch(tensor);
    store.fetch(tensor);
    tensor.mutable_values<float>()[4] = value;
  }
  store.park(tensor);
  store.flush();
  store.fetch(tensor);
  EXPECT_EQ(tensor.values<float>()[4], 3.0f);
  EXPECT_EQ(store.traffic().bytes_written, 4 * 9 * 4);
}

// If this fails, freeing memory writes what the file already has, or loses it.
SIMMESH_TEST(FileStore, DiscardsWithoutWriting, {.mesh = {1}, .schedules = 1}) {
  FileStore store({.folder = test_folder()});
  Tensor tensor = formula({9}, {.rule = Rule::unit, .seed = 1}).clone(), other = tensor.clone();
  store.park(tensor);
  EXPECT_TRUE(store.is_absent(tensor));
  EXPECT_FALSE(store.is_absent(other)) << "it was never parked";
  for (int i = 0; i < 3; ++i) {
    store.prefetch(tensor);
    EXPECT_FALSE(store.is_absent(tensor));
    store.discard(tensor);
    EXPECT_FALSE(store.is_absent(tensor)) << "it is being read";
    store.fetch(tensor);
    EXPECT_SAME_BITS(tensor, other);
    store.discard(tensor);
    store.discard(other);
    EXPECT_TRUE(store.is_absent(tensor));
    EXPECT_FALSE(other.storage()->is_freed());
  }
  EXPECT_EQ(store.traffic().bytes_written, 9 * 4);
  EXPECT_EQ(store.traffic().bytes_read, 3 * 9 * 4);
}

TEST(FileStore, LeavesNoFiles) {
  std::string folder = test_folder() + "/offload_folder";
  std::filesystem::create_directory(folder);
  {
    FileStore store({.folder = folder});
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  std::filesystem::remove(folder);
  simmesh::testing::expect_error([] { FileStore({.folder = "/nowhere/at/all"}); },
                                 ErrorKind::runtime_error, "/nowhere/at/all");
}

}  // namespace
}  // namespace simmesh::zero
