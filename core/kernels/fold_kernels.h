#pragma once

// Like lanes.h: exact sums of one element of each of several rows for one instruction set.
namespace simmesh::SIMMESH_KERNELS {
namespace {

inline Ints bits_where(Ints condition, Ints a, Ints b) {
  return (a & condition) | (b & ~condition);
}
inline Doubles magnitude_of(Doubles x) { return Doubles(Ints(x) & ~(std::uint64_t(1) << 63)); }

// Returns the one of the two doubles around x + rest whose last bit is set, or x where rest is 0;
// |rest| is within the last bit of x.
inline Doubles odd_of(Doubles x, Doubles rest) {
  auto bits = Ints(x);
  auto moves = Ints(rest != 0) & ((bits & 1) - 1);
  auto away = Ints((rest > 0) == (x > 0));
  return Doubles(bits + (moves & bits_where(away, Ints{} + 1, Ints{} - 1)));
}

template <bool scaled, class T>
Triples triples_of(const ExactFold<T>& fold, std::int64_t i) {
  Triples sums;
  Doubles factor = splat(fold.factor);
  for (std::int64_t r = 0; r < fold.row_count; ++r) {
    Doubles x = triple_load(fold.rows[r] + i);
    if constexpr (!scaled) {
      sums.add(x);
    } else if constexpr (sizeof(T) == sizeof(float)) {
      sums.add(x * factor);
    } else {
      Doubles product = x * factor;
      sums.add(product);
      sums.add(fused(x, factor, -product));
      Ints vanishes = Ints(magnitude_of(product) < splat(0x1p-900)) & Ints(x != 0);
      sums.missed += Doubles(vanishes & Ints(splat(__builtin_inf())));
    }
  }
  return sums;
}

// The quotient of sums and the divisor, which only needs to be narrowed, and whether it is correct.
struct FoldedLanes {
  Doubles value;
  Ints settled;
};
template <class T>
FoldedLanes folded_lanes(const ExactFold<T>& fold, const Triples& sums) {
  Doubles sum = sums.high + sums.low, back = sum - sums.high;
  Doubles rest = (sums.high - (sum - back)) + (sums.low - back);
  auto settled = Ints(sums.missed == 0) & Ints(sum - sum == 0);
  if (fold.divisor != 1) {
    Doubles divisor = splat(fold.divisor), quotient = sum / divisor;
    Doubles remainder = fused(-quotient, divisor, sum) + rest;
    if constexpr (sizeof(T) == sizeof(float)) return {odd_of(quotient, remainder), settled};
    Doubles more = remainder / divisor;
    Doubles least = quotient + more * (1 - 0x1p-40), most = quotient + more * (1 + 0x1p-40);
    auto is_large = Ints(magnitude_of(quotient) > splat(0x1p-900)) | Ints(sum == 0);
    return {most, settled & is_large & Ints(least == most) & Ints(most - most == 0)};
  }
  if constexpr (sizeof(T) == sizeof(float)) return {odd_of(sum, rest), settled};
  return {sum, settled};
}

// Narrows to odd, which keeps what a further rounding needs; subnormal floats couldn't keep it.
inline FoldedLanes odd_floats(FoldedLanes lanes) {
  constexpr std::uint64_t dropped = (std::uint64_t(1) << 29) - 1;
  auto bits = Ints(lanes.value);
  Ints odd = ((bits & dropped) + dropped) & (dropped + 1);
  auto is_normal = Ints(magnitude_of(lanes.value) >= splat(0x1p-126)) | Ints(lanes.value == 0);
  return {Doubles((bits & ~dropped) | odd), lanes.settled & is_normal};
}

// Computes one vector of the result, from i on, by sums that know their error.
template <bool scaled>
void fold_slowly(const ExactFold<float>& fold, std::int64_t i, float* out, Ints& settled) {
  FoldedLanes lanes = folded_lanes(fold, triples_of<scaled>(fold, i));
  if (fold.to_odd) lanes = odd_floats(lanes);
  *reinterpret_cast<LooseHalfFloats*>(out) = __builtin_convertvector(lanes.value, HalfFloats);
  settled = lanes.settled;
}
template <bool scaled>
void fold_slowly(const ExactFold<double>& fold, std::int64_t i, double* out, Ints& settled) {
  FoldedLanes lanes = folded_lanes(fold, triples_of<scaled>(fold, i));
  store(out, lanes.value);
  settled = lanes.settled;
}

// Returns x where it is settled, and other bits elsewhere.
inline HalfFloats odd_or_other(HalfFloats x, Ints settled) {
  return HalfFloats(HalfInts(x) ^ ~__builtin_convertvector(settled, HalfInts));
}

struct FoldBounds {
  Doubles scale;             // of the sum
  Doubles of_largest;        // times the largest magnitude, and
  Doubles of_value;          // times the value bound its error
  std::int32_t exact_range;  // of exponents, within which no sum rounds
  bool is_quick;
};

typedef std::uint32_t FoldBits __attribute__((vector_size(vector_bytes)));
typedef std::int32_t FoldInts __attribute__((vector_size(vector_bytes)));

// Adds a chain in double: exact where the exponents are close together, else bounded by the largest
// magnitude. Returns the lanes for which more than one float is possible.
template <bool scaled>
unsigned fold_quickly(const ExactFold<float>& fold, const FoldBounds& bounds, std::int64_t i,
                      float* out) {
  Doubles sums[wide_vectors] = {};
  FoldBits largest{}, smallest = FoldBits{} - 1;
  Doubles factor = splat(fold.factor);
  for (std::int64_t r = 0; r < fold.row_count; ++r) {
    const float* x = fold.rows[r] + i;
    // Zero less one wraps to the largest.
    FoldBits bits = FoldBits(load(x)) & 0x7FFFFFFF, less = bits - 1;
    largest = bits > largest ? bits : largest;
    smallest = less < smallest ? less : smallest;
#pragma GCC unroll 4
    for (int v = 0; v < wide_vectors; ++v) {
      Doubles wide = load_wide(x + v * wide_lanes);
      sums[v] = scaled ? exactly_fused(wide, factor, sums[v]) : sums[v] + wide;
    }
  }
  auto range = FoldInts(largest >> 23) - FoldInts(smallest >> 23);
  auto rounds = FoldBits(range > bounds.exact_range);
  float inexact[wide_width];
  store(inexact, Floats(largest & rounds));
  unsigned open = 0;
#pragma GCC unroll 4
  for (int v = 0; v < wide_vectors; ++v) {
    Doubles value = sums[v] * bounds.scale;
    Doubles bound = load_wide(inexact + v * wide_lanes) * bounds.of_largest +
                    magnitude_of(value) * bounds.of_value;
    HalfFloats low, high;
    if (fold.to_odd) {
      FoldedLanes odd = odd_floats({value, Ints(bound == 0)});
      high = __builtin_convertvector(odd.value, HalfFloats);
      low = odd_or_other(high, odd.settled);
    } else {
      low = __builtin_convertvector(value - bound, HalfFloats);
      high = __builtin_convertvector(value + bound, HalfFloats);
    }
    *reinterpret_cast<LooseHalfFloats*>(out + v * wide_lanes) = high;
    auto differ = HalfInts(HalfInts(low) != HalfInts(high)) | HalfInts(high - high != HalfFloats{});
    open |= lanes_set(differ) << v * wide_lanes;
  }
  return open;
}

template <bool scaled, class T>
std::int64_t fold_rows(const ExactFold<T>& fold, const FoldBounds& bounds) {
  constexpr std::int64_t width = sizeof(T) == sizeof(float) ? wide_width : wide_lanes;
  std::int64_t open = 0;
  for (std::int64_t i = 0; i < fold.count; i += width) {
    // Rows are read as whole vectors; the last vectors overlap those before them.
    std::int64_t at = i + width <= fold.count ? i : fold.count - width;
    T values[width];
    bool is_open = true;
    if constexpr (sizeof(T) == sizeof(float))
      if (bounds.is_quick) is_open = fold_quickly<scaled>(fold, bounds, at, values) != 0;
    if (is_open)
      for (std::int64_t v = 0; v < width; v += wide_lanes) {
        Ints settled{};
        fold_slowly<scaled>(fold, at + v, values + v, settled);
        for (std::int64_t l = 0; l < wide_lanes; ++l)
          if (!settled[l] && at + v + l >= i) fold.unsettled[open++] = std::int32_t(at + v + l);
      }
    for (std::int64_t l = i - at; l < width; ++l) fold.out[at + l] = values[l];
  }
  return open;
}

// Returns how many bits a double takes up, from the lowest to the highest that is set.
inline int bits_of_factor(double x) {
  auto mantissa = __builtin_bit_cast(std::uint64_t, x) << 12;
  return mantissa == 0 ? 1 : 53 - __builtin_ctzll(mantissa >> 12);
}

// The bound of a chain of n terms is the one of wide_chains.cpp, where each magnitude is at most
// the largest. A double holds sums of n floats exactly whose exponents differ by so much less than
// 53 bits.
template <class T>
std::int64_t exact_fold(const ExactFold<T>& fold) {
  constexpr std::int64_t rows_max = 1 << 16;
  auto rows = double(fold.row_count);
  double scale = 1 / fold.divisor, factor = fold.scaled ? fold.factor : 1;
  bool is_power_of_two = (__builtin_bit_cast(std::uint64_t, fold.divisor) << 12) == 0;
  int taken = 24 + (fold.scaled ? bits_of_factor(fold.factor) : 0);
  for (std::int64_t n = 1; n < fold.row_count; n *= 2) ++taken;
  FoldBounds bounds{
      .scale = splat(scale),
      .of_largest = splat((rows + 2) * rows * 0x1.02p-53 * scale * (factor < 0 ? -factor : factor)),
      .of_value = splat(is_power_of_two ? 0.0 : 0x1p-50),
      .exact_range = 53 - taken,
      .is_quick = fold.row_count <= rows_max};
  return fold.scaled ? fold_rows<true>(fold, bounds) : fold_rows<false>(fold, bounds);
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
