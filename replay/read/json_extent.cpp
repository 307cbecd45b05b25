#include "replay/read/json_extent.h"

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace simmesh::replay {

namespace {

constexpr std::size_t lanes_bytes = 64;

// JsonBlock says by one bit a byte which of 64 bytes are quotes, backslashes and brackets.
struct JsonBlock {
  std::uint64_t quotes = 0;
  std::uint64_t escapes = 0;
  std::uint64_t opening = 0;
  std::uint64_t closing = 0;
};

#if defined(__SSE2__)
// With 0x20 set, '[' becomes '{' and ']' becomes '}', and no other byte becomes either.
JsonBlock look_at(const char* bytes) {
  JsonBlock block;
  for (std::size_t i = 0; i < lanes_bytes; i += 16) {
    __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i));
    __m128i folded = _mm_or_si128(part, _mm_set1_epi8(0x20));
    auto bits = [&](__m128i lanes, char byte) {
      __m128i equal = _mm_cmpeq_epi8(lanes, _mm_set1_epi8(byte));
      return std::uint64_t(std::uint32_t(_mm_movemask_epi8(equal))) << i;
    };
    block.quotes |= bits(part, '"');
    block.escapes |= bits(part, '\\');
    block.opening |= bits(folded, '{');
    block.closing |= bits(folded, '}');
  }
  return block;
}
#else
JsonBlock look_at(const char* bytes) {
  JsonBlock block;
  for (std::size_t i = 0; i < lanes_bytes; ++i) {
    char byte = bytes[i];
    block.quotes |= std::uint64_t(byte == '"') << i;
    block.escapes |= std::uint64_t(byte == '\\') << i;
    block.opening |= std::uint64_t(byte == '{' || byte == '[') << i;
    block.closing |= std::uint64_t(byte == '}' || byte == ']') << i;
  }
  return block;
}
#endif

// Each bit of the result is the exclusive or of that bit and all below it.
std::uint64_t running_xor(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

std::optional<std::size_t> JsonExtent::find_end_by_bytes(std::string_view piece) {
  for (std::size_t i = 0; i < piece.size(); ++i) {
    char byte = piece[i];
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (is_in_text_) {
      is_escaped_ = byte == '\\';
      is_in_text_ = byte != '"';
    } else if (byte == '"') {
      is_in_text_ = true;
    } else if (byte == '{' || byte == '[') {
      ++depth_;
    } else if ((byte == '}' || byte == ']') && --depth_ == 0) {
      return i + 1;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> JsonExtent::find_end(std::string_view piece) {
  std::size_t at = 0;
  for (; at + lanes_bytes <= piece.size(); at += lanes_bytes) {
    JsonBlock block = look_at(piece.data() + at);
    if (block.escapes != 0 || is_escaped_) {
      if (auto end = find_end_by_bytes(piece.substr(at, lanes_bytes))) return at + *end;
      continue;
    }
    std::uint64_t in_text = running_xor(block.quotes) ^ (is_in_text_ ? ~std::uint64_t(0) : 0);
    is_in_text_ = (in_text >> 63) != 0;
    std::uint64_t opening = block.opening & ~in_text, closing = block.closing & ~in_text;
    for (std::uint64_t brackets = opening | closing; brackets != 0; brackets &= brackets - 1) {
      int place = std::countr_zero(brackets);
      depth_ += (opening >> place) & 1 ? 1 : -1;
      if (depth_ == 0) return at + std::size_t(place) + 1;
    }
  }
  if (auto end = find_end_by_bytes(piece.substr(at))) return at + *end;
  return std::nullopt;
}

}  // namespace simmesh::replay
