#pragma once

#include <cstddef>
#include <gsl/span>

namespace simmesh {

// Targets of at least so many bytes are taken to be larger than the caches.
inline constexpr std::size_t past_cache_bytes_min = 8 << 20;

// stream_copy copies bytes to memory that nobody reads soon. It writes past the caches, so that the
// target isn't read before it is overwritten. It is meant for targets larger than the caches.
// Source and target don't overlap.
void stream_copy(std::byte* target, gsl::span<const std::byte> source);

// StreamCopies makes several such copies. Other threads may read them once it is destroyed.
class StreamCopies {
 public:
  StreamCopies() = default;
  StreamCopies(const StreamCopies&) = delete;
  StreamCopies& operator=(const StreamCopies&) = delete;
  ~StreamCopies();

  void copy(std::byte* target, gsl::span<const std::byte> source);
};

}  // namespace simmesh
