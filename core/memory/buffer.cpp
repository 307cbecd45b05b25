#include "core/memory/buffer.h"

#include <new>

#include "core/memory/not_enough_memory.h"

namespace simmesh {

BufferPtr Buffer::make(std::size_t bytes, PhysicalMemory* memory) {
  static_assert(sizeof(Buffer) <= header_bytes);
  std::size_t total = header_bytes + bytes;
  if (total < bytes) throw NotEnoughMemory(bytes);
  std::byte* block = PhysicalMemory::allocate(memory, total);
  return BufferPtr(::new (block) Buffer(bytes, memory));
}

void Buffer::destroy(Buffer* buffer) noexcept {
  std::size_t total = header_bytes + buffer->bytes_;
  boost::intrusive_ptr<PhysicalMemory> memory = std::move(buffer->memory_);
  buffer->~Buffer();
  PhysicalMemory::free(memory.get(), reinterpret_cast<std::byte*>(buffer), total);
}

}  // namespace simmesh
