#include "core/memory/physical_memory.h"

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

constexpr std::size_t large = std::size_t(1) << 20;

boost::intrusive_ptr<PhysicalMemory> memory_of(PhysicalMemory::Options options) {
  return new PhysicalMemory(options);
}

std::uintptr_t address(const std::byte* block) { return reinterpret_cast<std::uintptr_t>(block); }

// If this fails, a run reports wrong physical bytes, or a leak goes unseen.
TEST(PhysicalMemory, CountsCurrentPeakAndBlocks) {
  auto memory = memory_of({});
  std::byte* a = PhysicalMemory::allocate(memory.get(), 100);
  std::byte* b = PhysicalMemory::allocate(memory.get(), 50);
  EXPECT_EQ(memory->current_bytes(), 150);
  EXPECT_EQ(memory->live_buffers(), 2);
  PhysicalMemory::free(memory.get(), a, 100);
  EXPECT_EQ(memory->current_bytes(), 50);
  EXPECT_EQ(memory->peak_bytes(), 150);
  memory->restart_peak();
  EXPECT_EQ(memory->peak_bytes(), 50);
  PhysicalMemory::free(memory.get(), b, 50);
  EXPECT_EQ(memory->current_bytes(), 0);
  EXPECT_EQ(memory->live_buffers(), 0);
}

// If this fails, a large block is not reused, or handed out to two owners at once.
TEST(PhysicalMemory, LargeBlocksAreReusedOnce) {
  auto memory = memory_of({});
  std::byte* first = PhysicalMemory::allocate(memory.get(), large);
  PhysicalMemory::free(memory.get(), first, large);
  EXPECT_EQ(memory->current_bytes(), 0) << "cached bytes are not in use";
  std::byte* again = PhysicalMemory::allocate(memory.get(), large);
  EXPECT_EQ(again, first);
  std::byte* other = PhysicalMemory::allocate(memory.get(), large);
  EXPECT_NE(other, first);
  PhysicalMemory::free(memory.get(), again, large);
  std::byte* bigger = PhysicalMemory::allocate(memory.get(), 2 * large);
  EXPECT_NE(bigger, first) << "a cached block was given for more bytes than it has";
  PhysicalMemory::free(memory.get(), bigger, 2 * large);
  PhysicalMemory::free(memory.get(), other, large);
}

// If this fails, use after free goes unseen. The cache owns the freed block, so it may be read.
TEST(PhysicalMemory, PoisonOverwritesFreshAndFreedBytesOnlyWhereAsked) {
  for (bool poison : {false, true}) {
    auto memory = memory_of({.poison = poison});
    EXPECT_EQ(memory->poisons(), poison);
    std::byte* block = PhysicalMemory::allocate(memory.get(), large);
    if (poison) {
      for (std::size_t i = 0; i < large; ++i) ASSERT_EQ(block[i], std::byte(0xFF)) << i;
    }
    std::memset(block, 0x11, large);
    PhysicalMemory::free(memory.get(), block, large);
    std::byte expected{poison ? std::uint8_t(0xA5) : std::uint8_t(0x11)};
    for (std::size_t i = 0; i < large; ++i)
      ASSERT_EQ(block[i], expected) << "byte " << i << " poison " << poison;
  }
}

// If this fails, a block too large for the cache takes the room of one that fits.
TEST(PhysicalMemory, CacheIsBounded) {
  auto memory = memory_of({.cached_bytes_max = large});
  std::byte* a = PhysicalMemory::allocate(memory.get(), large);
  std::byte* b = PhysicalMemory::allocate(memory.get(), large + 1);
  PhysicalMemory::free(memory.get(), b, large + 1);  // larger than the cache: not kept
  PhysicalMemory::free(memory.get(), a, large);
  EXPECT_EQ(PhysicalMemory::allocate(memory.get(), large), a);
  PhysicalMemory::free(memory.get(), a, large);
}

// If this fails, blocks of a size that nobody asks for any more fill the cache for good.
TEST(PhysicalMemory, LetsGoOfTheOldestBlocksWhereAsked) {
  auto memory = memory_of({.cached_bytes_max = 3 * large, .lets_go_of_oldest = true});
  std::byte* old = PhysicalMemory::allocate(memory.get(), large);
  std::byte* kept = PhysicalMemory::allocate(memory.get(), large + 1);
  std::byte* last = PhysicalMemory::allocate(memory.get(), large + 2);
  PhysicalMemory::free(memory.get(), old, large);
  PhysicalMemory::free(memory.get(), kept, large + 1);
  PhysicalMemory::free(memory.get(), last, large + 2);
  EXPECT_EQ(PhysicalMemory::allocate(memory.get(), large + 1), kept);
  EXPECT_EQ(PhysicalMemory::allocate(memory.get(), large + 2), last);
  PhysicalMemory::free(memory.get(), kept, large + 1);
  PhysicalMemory::free(memory.get(), last, large + 2);
}

// If this fails, vector loads of tensor data may fault, or huge pages don't apply.
TEST(PhysicalMemory, BlocksAreAligned) {
  for (std::size_t bytes : {std::size_t(0), std::size_t(1), std::size_t(1000), large - 1}) {
    std::byte* block = PhysicalMemory::allocate(nullptr, bytes);
    EXPECT_EQ(address(block) % 16, 0u) << bytes;
    PhysicalMemory::free(nullptr, block, bytes);
  }
  for (std::size_t bytes : {large, large + 1, 2 * large, 3 * large + 7}) {
    std::byte* block = PhysicalMemory::allocate(nullptr, bytes);
    EXPECT_EQ(address(block) % 4096, 0u) << bytes;
    std::memset(block, 1, bytes);
    PhysicalMemory::free(nullptr, block, bytes);
  }
}

// If this fails, an absurd size wraps around to a small block.
TEST(PhysicalMemory, AbsurdSizesAreRefused) {
  auto memory = memory_of({});
  for (std::size_t bytes : {~std::size_t(0), ~std::size_t(0) - 5000}) {
    EXPECT_THROW(PhysicalMemory::allocate(memory.get(), bytes), std::bad_alloc);
    EXPECT_EQ(memory->current_bytes(), 0);
    EXPECT_EQ(memory->live_buffers(), 0);
  }
}

}  // namespace
}  // namespace simmesh
