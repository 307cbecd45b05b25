#include "core/memory/caching_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh {
namespace {

constexpr std::int64_t kibibyte = 1 << 10, mebibyte = 1 << 20;

// Wrong roundings would make every reserved figure differ from PyTorch's.
TEST(CachingAllocator, TakesSegmentsBySize) {
  struct Case {
    std::int64_t bytes, active, reserved;
  };
  for (const Case& c :
       {Case{1, 512, 2 * mebibyte}, Case{513, 1024, 2 * mebibyte},
        Case{mebibyte, mebibyte, 2 * mebibyte}, Case{mebibyte + 1, mebibyte + 512, 20 * mebibyte},
        Case{10 * mebibyte - 512, 10 * mebibyte - 512, 20 * mebibyte},
        Case{10 * mebibyte, 10 * mebibyte, 10 * mebibyte},
        Case{11 * mebibyte, 12 * mebibyte, 12 * mebibyte}}) {
    CachingAllocator allocator({});
    DeviceAddress block = allocator.allocate(c.bytes);
    EXPECT_EQ(allocator.figures().active.current, c.active) << c.bytes;
    EXPECT_EQ(allocator.figures().reserved.current, c.reserved) << c.bytes;
    allocator.free(block);
    EXPECT_EQ(allocator.figures().active.current, 0);
    EXPECT_EQ(allocator.figures().reserved.current, c.reserved);
  }
}

TEST(CachingAllocator, GivesNothingForNoBytes) {
  CachingAllocator allocator({});
  EXPECT_EQ(allocator.allocate(0), 0u);
  allocator.free(0);
  EXPECT_EQ(allocator.figures().segments, 0);
}

// A pool that others could take from would hide that streams keep memory from one another.
TEST(CachingAllocator, KeepsPoolsOfStreamsApart) {
  CachingAllocator allocator({});
  DeviceAddress first = allocator.allocate(4 * kibibyte);
  allocator.free(first);
  allocator.set_stream(1);
  DeviceAddress other = allocator.allocate(4 * kibibyte);
  EXPECT_NE(other, first);
  EXPECT_EQ(allocator.figures().segments, 2);
  allocator.set_stream(0);
  EXPECT_EQ(allocator.allocate(4 * kibibyte), first);
}

// Memory that a memory pool shares with the outside would, too.
TEST(CachingAllocator, KeepsMemoryPoolsApart) {
  CachingAllocator allocator({});
  MemoryPoolIndex pool = allocator.make_pool(), other_pool = allocator.make_pool();
  EXPECT_NE(pool, other_pool);
  allocator.set_pool(pool);
  DeviceAddress first = allocator.allocate(4 * kibibyte);
  allocator.free(first);
  for (MemoryPoolIndex outside : {MemoryPoolIndex(0), other_pool}) {
    allocator.set_pool(outside);
    EXPECT_NE(allocator.allocate(4 * kibibyte), first);
  }
  EXPECT_EQ(allocator.figures().segments, 3);
  allocator.set_pool(pool);
  EXPECT_EQ(allocator.allocate(4 * kibibyte), first);
}

// The best fit, not the first: else large blocks are cut up for small requests.
TEST(CachingAllocator, TakesTheBestFit) {
  CachingAllocator allocator({});
  DeviceAddress large = allocator.allocate(8 * kibibyte);
  DeviceAddress wall = allocator.allocate(512);
  DeviceAddress small = allocator.allocate(2 * kibibyte);
  DeviceAddress end = allocator.allocate(512);
  allocator.free(large);
  allocator.free(small);
  EXPECT_EQ(allocator.allocate(2 * kibibyte), small);
  EXPECT_EQ(allocator.allocate(3 * kibibyte), large);
  allocator.free(wall);
  allocator.free(end);
}

// Without merging, a segment whose blocks are all free could never hold a large one again.
TEST(CachingAllocator, MergesNeighbours) {
  CachingAllocator allocator({});
  std::vector<DeviceAddress> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocator.allocate(512 * kibibyte));
  for (int i : {0, 2, 3, 1}) allocator.free(blocks[std::size_t(i)]);
  EXPECT_EQ(allocator.allocate(mebibyte), blocks[0]);
  EXPECT_EQ(allocator.figures().segments, 1);
}

// The rest of a large block is only split off above 1 MiB.
TEST(CachingAllocator, SplitsLargeBlocksAboveAMebibyte) {
  CachingAllocator allocator({});
  DeviceAddress block = allocator.allocate(19 * mebibyte + 512 * kibibyte);
  EXPECT_EQ(allocator.figures().reserved.current, 20 * mebibyte);
  allocator.free(block);
  block = allocator.allocate(18 * mebibyte + 512 * kibibyte);
  EXPECT_EQ(allocator.figures().active.current, 18 * mebibyte + 512 * kibibyte);
  allocator.free(block);
  allocator.allocate(19 * mebibyte);
  EXPECT_EQ(allocator.figures().active.current, 20 * mebibyte);
}

// A block that another stream still uses may only come back when the host knows that it is through:
// a host that runs ahead gets new memory each time.
TEST(CachingAllocator, WaitsForRecordedStreams) {
  CachingAllocator allocator({});
  DeviceAddress block = allocator.allocate(2 * mebibyte);
  allocator.record_stream(block, 1);
  allocator.launched(1, 5);
  allocator.free(block);
  EXPECT_EQ(allocator.figures().allocated.current, 0);
  EXPECT_EQ(allocator.figures().active.current, 2 * mebibyte);
  EXPECT_NE(allocator.allocate(2 * mebibyte), block);
  allocator.completed(1, 4);
  EXPECT_NE(allocator.allocate(2 * mebibyte), block);
  allocator.completed(1, 5);
  EXPECT_EQ(allocator.allocate(2 * mebibyte), block);
}

// The stream that a block belongs to needs no record.
TEST(CachingAllocator, IgnoresARecordOfTheOwnStream) {
  CachingAllocator allocator({});
  DeviceAddress block = allocator.allocate(512);
  allocator.record_stream(block, 0);
  allocator.launched(0, 3);
  allocator.free(block);
  EXPECT_EQ(allocator.figures().active.current, 0);
}

// A full device first gives back what other streams cache and wait for, and then refuses.
TEST(CachingAllocator, FlushesBeforeItRefuses) {
  CachingAllocator allocator({.capacity_bytes = 24 * mebibyte});
  allocator.set_stream(1);
  DeviceAddress cached = allocator.allocate(20 * mebibyte);
  allocator.record_stream(cached, 2);
  allocator.launched(2, 1);
  allocator.free(cached);
  allocator.set_stream(0);
  DeviceAddress block = allocator.allocate(22 * mebibyte);
  EXPECT_EQ(allocator.figures().cache_flushes, 1);
  EXPECT_EQ(allocator.figures().reserved.current, 22 * mebibyte);
  EXPECT_EQ(allocator.figures().active.current, 22 * mebibyte);
  EXPECT_THAT([&] { allocator.allocate(4 * mebibyte); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::HasSubstr("out of memory: expected room for 4194304 bytes")));
  allocator.free(block);
}

TEST(CachingAllocator, CountsPeaksAndFragmentation) {
  CachingAllocator allocator({});
  DeviceAddress block = allocator.allocate(3 * mebibyte);
  allocator.free(block);
  allocator.flush();
  EXPECT_EQ(allocator.figures().reserved.current, 0);
  EXPECT_EQ(allocator.figures().reserved.peak, 20 * mebibyte);
  EXPECT_EQ(allocator.figures().active.peak, 3 * mebibyte);
  EXPECT_EQ(allocator.figures().fragmentation_bytes(), 17 * mebibyte);
  EXPECT_EQ(allocator.figures().segments, 0);
}

}  // namespace
}  // namespace simmesh
