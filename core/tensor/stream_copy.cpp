#include <algorithm>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/tensor/stream_copy.h"

namespace simmesh {

#ifdef __SSE2__

void StreamCopies::copy(std::byte* target, gsl::span<const std::byte> source) {
  constexpr std::size_t line_bytes = 64, word_bytes = sizeof(__m128i);
  const std::byte* from = source.data();
  std::size_t left = source.size();
  std::size_t past_line = reinterpret_cast<std::uintptr_t>(target) % line_bytes;
  std::size_t head = std::min(left, (line_bytes - past_line) % line_bytes);
  if (left == 0) return;
  std::memcpy(target, from, head);
  target += head, from += head, left -= head;
  for (; left >= line_bytes; target += line_bytes, from += line_bytes, left -= line_bytes) {
    __m128i words[line_bytes / word_bytes];
    std::memcpy(words, from, line_bytes);
    auto* to = reinterpret_cast<__m128i*>(target);
    for (const __m128i& word : words) _mm_stream_si128(to++, word);
  }
  std::memcpy(target, from, left);
}

// Without a fence, streamed stores become visible in no particular order.
StreamCopies::~StreamCopies() { _mm_sfence(); }

#else

void StreamCopies::copy(std::byte* target, gsl::span<const std::byte> source) {
  if (!source.empty()) std::memcpy(target, source.data(), source.size());
}

StreamCopies::~StreamCopies() = default;

#endif

void stream_copy(std::byte* target, gsl::span<const std::byte> source) {
  StreamCopies().copy(target, source);
}

}  // namespace simmesh
