#include "core/tensor/elements_hash.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace simmesh {

namespace {

// A float dtype, by its bits as a signed integer of the same width: those of all but the sign, of
// infinity and of the quiet NaN.
template <class Bits, Bits infinity_bits, Bits nan_bits>
struct Float {
  using Stored = Bits;
  static constexpr Bits magnitude = Bits(std::make_unsigned_t<Bits>(~Bits(0)) >> 1);
  static constexpr Bits infinity = infinity_bits;
  static constexpr Bits nan = nan_bits;
};
using Float64 = Float<std::int64_t, 0x7FF0000000000000, 0x7FF8000000000000>;
using Float32 = Float<std::int32_t, 0x7F800000, 0x7FC00000>;
using BFloat16Bits = Float<std::int16_t, 0x7F80, 0x7FC0>;
using Float16Bits = Float<std::int16_t, 0x7C00, 0x7E00>;

template <class F>
decltype(auto) visit_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float64: return f(Float64());
    case DType::float32: return f(Float32());
    case DType::bfloat16: return f(BFloat16Bits());
    default: return f(Float16Bits());
  }
}

// Pieces fit into the first cache, so that reading them again is fast.
constexpr std::size_t piece_bytes = 4096;

// The difference is negative for a NaN alone.
template <class Format>
bool has_nan(const std::byte* elements, std::size_t bytes) {
  using Bits = typename Format::Stored;
  Bits any = 0;
  for (std::size_t at = 0; at < bytes; at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, elements + at, sizeof(Bits));
    any = Bits(any | Bits(Format::infinity - (bits & Format::magnitude)));
  }
  return any < 0;
}

template <class Format>
void make_canonical(std::byte* elements, std::size_t bytes) {
  using Bits = typename Format::Stored;
  for (std::size_t at = 0; at < bytes; at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, elements + at, sizeof(Bits));
    if ((bits & Format::magnitude) > Format::infinity) bits = Format::nan;
    std::memcpy(elements + at, &bits, sizeof(Bits));
  }
}

bool has_nan(gsl::span<const std::byte> elements, DType dtype) {
  return visit_float(dtype, [&]<class Format>(Format) {
    return has_nan<Format>(elements.data(), elements.size());
  });
}

void update_with_nans(BitsHash& hash, gsl::span<const std::byte> elements, DType dtype) {
  std::array<std::byte, piece_bytes> piece;
  for (std::size_t at = 0; at < elements.size(); at += piece_bytes) {
    std::size_t bytes = std::min(piece_bytes, elements.size() - at);
    std::memcpy(piece.data(), elements.data() + at, bytes);
    visit_float(dtype, [&]<class Format>(Format) { make_canonical<Format>(piece.data(), bytes); });
    hash.update({piece.data(), bytes});
  }
}

}  // namespace

void ElementsHash::update(gsl::span<const std::byte> elements) {
  if (is_floating_point(dtype_) && has_nan(elements, dtype_))
    update_with_nans(hash_, elements, dtype_);
  else
    hash_.update(elements);
}

std::uint64_t elements_hash(gsl::span<const std::byte> elements, DType dtype) {
  if (!is_floating_point(dtype) || !has_nan(elements, dtype)) return bits_hash(elements);
  BitsHash hash;
  update_with_nans(hash, elements, dtype);
  return hash.value();
}

}  // namespace simmesh
