#include "core/engine/spread/process_bytes.h"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "core/check/check.h"

namespace simmesh {
namespace {

ProcessBytes some_bytes(std::size_t count, int value) {
  ProcessBytes bytes = ProcessBytes::uninitialised(count);
  std::memset(bytes.mutable_data(), value, count);
  return bytes;
}

// A message would lose bytes where it outgrows its room.
TEST(ProcessBytes, AppendsWhateverTheRoom) {
  for (std::size_t room : {0, 3, 64, 200}) {
    ProcessBytes bytes;
    bytes.reserve(room);
    std::vector<std::byte> expected;
    for (int i = 0; i < 100; ++i) {
      expected.push_back(std::byte(i));
      bytes.append({&expected.back(), 1});
    }
    EXPECT_EQ(bytes, ProcessBytes(expected)) << room;
  }
  EXPECT_TRUE(ProcessBytes().empty());
  EXPECT_NE(ProcessBytes({std::byte{1}}), ProcessBytes({std::byte{2}}));
  EXPECT_NE(ProcessBytes({std::byte{1}}), ProcessBytes());
}

// A writer whose bytes were taken would go on with bytes that it no longer has.
TEST(ProcessBytes, AreEmptyOnceMovedFrom) {
  ProcessBytes first = some_bytes(20, 3);
  ProcessBytes second = std::move(first);
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move)
  first = std::move(second);
  EXPECT_TRUE(second.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(first, some_bytes(20, 3));
}

// A change of one message would change another one that shares its bytes.
TEST(ProcessBytes, CopiesShareUntilOneChanges) {
  ProcessBytes first = some_bytes(20, 3);
  first.reserve(100);
  ProcessBytes second = first, third = first, fourth = first;
  EXPECT_EQ(second.data(), first.data());
  std::byte more{9};
  second.append({&more, 1});
  std::memset(third.mutable_data(), 4, 20);
  fourth.shorten(7);
  EXPECT_EQ(fourth.data(), first.data()) << "less of it needs no copy";
  EXPECT_EQ(first, some_bytes(20, 3));
  EXPECT_EQ(second.size(), 21u);
  EXPECT_EQ(third, some_bytes(20, 4));
  EXPECT_EQ(fourth, some_bytes(7, 3));
  EXPECT_THROW(fourth.shorten(8), ContractViolation);
}

// Each exchange of large tensors would get fresh pages, which cost more than the copies.
TEST(ProcessBytes, LargeBlocksAreUsedAgain) {
  constexpr std::size_t large = std::size_t(3) << 20;
  const std::byte* begin = ProcessBytes::uninitialised(large).data();
  EXPECT_EQ(ProcessBytes::uninitialised(large - 1000).data(), begin) << "about the same size";
}

}  // namespace
}  // namespace simmesh
