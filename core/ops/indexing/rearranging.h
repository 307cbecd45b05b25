#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/ops/op.h"

namespace simmesh {

// Ops that return the elements of another tensor at other places.

// repeat copies the tensor repeats[i] times along dim i, with new leading dims where there are more
// repeats. tile fills up missing leading repeats with one. Raises a RuntimeError for repeats below
// zero, and repeat for fewer of them than dims.
Tensor repeat(const Tensor& x, DimSpan repeats);
Tensor tile(const Tensor& x, DimSpan repeats);
inline Tensor repeat(const Tensor& x, std::initializer_list<std::int64_t> repeats) {
  return repeat(x, DimSpan(repeats.begin(), repeats.size()));
}
inline Tensor tile(const Tensor& x, std::initializer_list<std::int64_t> repeats) {
  return tile(x, DimSpan(repeats.begin(), repeats.size()));
}

// repeat_interleave copies each element of a dim several times in a row: repeats times, or as many
// times as an int64 vector says for that element; every rank reads all of a distributed vector, one
// element after another. Raises a RuntimeError for repeats below zero and for a vector of another
// size.
Tensor repeat_interleave(const Tensor& x, std::int64_t repeats, std::int64_t dim);
Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::int64_t dim);

// PadMode says what padding holds: a value, the elements mirrored at the border, or the border.
enum class PadMode : std::uint8_t { constant, reflect, replicate };

// pad adds pads[0] elements before and pads[1] after the last dim, pads[2] and pads[3] for the dim
// before it, and so on. Negative pads of mode constant cut elements off. Raises a RuntimeError for
// an odd number of pads, for more of them than two a dim, where less than nothing would be left,
// and where a dim is too short to be mirrored.
Tensor pad(const Tensor& x, DimSpan pads, PadMode mode = PadMode::constant, double value = 0);
inline Tensor pad(const Tensor& x, std::initializer_list<std::int64_t> pads,
                  PadMode mode = PadMode::constant, double value = 0) {
  return pad(x, DimSpan(pads.begin(), pads.size()), mode, value);
}

// roll moves the elements of dims[i] by shifts[i] places, those beyond the end to the begin.
// Without dims it rolls the flattened tensor. Raises a RuntimeError for another number of shifts
// than dims.
Tensor roll(const Tensor& x, DimSpan shifts, DimSpan dims = {});
inline Tensor roll(const Tensor& x, std::initializer_list<std::int64_t> shifts,
                   std::initializer_list<std::int64_t> dims = {}) {
  return roll(x, DimSpan(shifts.begin(), shifts.size()), DimSpan(dims.begin(), dims.size()));
}

// flip reverses dims. Raises an IndexError for a dim out of range.
Tensor flip(const Tensor& x, DimSpan dims);
inline Tensor flip(const Tensor& x, std::initializer_list<std::int64_t> dims) {
  return flip(x, DimSpan(dims.begin(), dims.size()));
}

// tril keeps the elements on and below a diagonal of the last two dims, triu those on and above it;
// the others are zero. Raise a RuntimeError for fewer than two dims.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Dims> repeats{"repeats"};
inline constexpr Attribute<Dims> shifts{"shifts"};
inline constexpr Attribute<Dims> pad{"pad"};
inline constexpr Attribute<std::int64_t> diagonal{"diagonal"};
}  // namespace attribute

}  // namespace simmesh
