#include "core/memory/buffer.h"

#include <cstring>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

// If this fails, a shared buffer is written in place, or a sole owner copies for nothing.
TEST(Buffer, IsSharedWhileSeveralOwnIt) {
  BufferPtr first = Buffer::make(8, nullptr);
  EXPECT_FALSE(first->is_shared());
  BufferPtr second = first;
  EXPECT_TRUE(first->is_shared());
  second.reset();
  EXPECT_FALSE(first->is_shared());
}

// If this fails, bytes leak, are freed too early, or are counted once for each owner.
TEST(Buffer, CountsOnceAndFreesWithTheLastOwner) {
  boost::intrusive_ptr<PhysicalMemory> memory(new PhysicalMemory({}));
  BufferPtr first = Buffer::make(1000, memory.get());
  std::int64_t counted = memory->current_bytes();
  EXPECT_GE(counted, 1000);
  EXPECT_EQ(memory->live_buffers(), 1);
  BufferPtr second = first;
  EXPECT_EQ(memory->current_bytes(), counted);
  first.reset();
  EXPECT_EQ(memory->live_buffers(), 1);
  second.reset();
  EXPECT_EQ(memory->live_buffers(), 0);
  EXPECT_EQ(memory->current_bytes(), 0);
}

// If this fails, a buffer that outlives its World frees into memory that is gone.
TEST(Buffer, KeepsItsMemoryAlive) {
  boost::intrusive_ptr<PhysicalMemory> memory(new PhysicalMemory({}));
  BufferPtr buffer = Buffer::make(16, memory.get());
  EXPECT_EQ(memory->use_count(), 2u);
  memory.reset();
  std::memset(buffer->data(), 1, 16);
  buffer.reset();
}

// If this fails, header and bytes overlap, or the bytes lose their alignment.
TEST(Buffer, BytesAreWritableAndAligned) {
  for (std::size_t bytes : {0u, 1u, 63u, 64u, 4096u, 3u << 20}) {
    BufferPtr buffer = Buffer::make(bytes, nullptr);
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 16, 0u);
    if (bytes > 0) std::memset(buffer->data(), 0xFF, bytes);
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_FALSE(buffer->is_shared());
  }
  EXPECT_THROW(Buffer::make(~std::size_t(0), nullptr), std::bad_alloc);
}

}  // namespace
}  // namespace simmesh
