#pragma once

// Like lanes.h: arithmetic of pairs of doubles in the manner of ExactPair for one instruction set.
namespace simmesh::SIMMESH_KERNELS {
namespace {

// A vector of ExactPairs.
struct Pairs {
  Doubles high{}, low{}, missed{};

  void add(Doubles term) {
    Doubles sum = high + term, back = sum - high;
    Doubles rest = (high - (sum - back)) + (term - back);
    Doubles lower = low + rest;
    back = lower - low;
    Doubles lost = (low - (lower - back)) + (rest - back);
    high = sum + lower;
    back = high - sum;
    low = (sum - (high - back)) + (lower - back);
    high += splat(0.0);
    missed += magnitude_of(lost) + (low - low);
  }

  void add_product(Doubles a, Doubles b) {
    Pairs product = of_product(a, b);
    add(product.high);
    add(product.low);
    missed += product.missed;
  }

  static Pairs of_product(Doubles a, Doubles b) {
    Doubles high = a * b, low = fused(a, b, -high);
    Ints is_zero = Ints(high == 0) & (Ints(a == 0) | Ints(b == 0));
    Ints is_known = is_zero | Ints(magnitude_of(high) >= splat(0x1p-900));
    auto missed = bits_where(is_known, Ints(high - high), Ints(splat(1.0)));
    return {high + splat(0.0), low, Doubles(missed)};
  }
};

struct PairSum {
  template <bool has_lows_a, bool has_lows_b>
  static Pairs of(Doubles a, Doubles a_low, Doubles b, Doubles b_low) {
    Pairs sum{a, a_low};
    sum.add(b);
    if constexpr (has_lows_b) sum.add(b_low);
    return sum;
  }
};

struct PairProduct {
  template <bool has_lows_a, bool has_lows_b>
  static Pairs of(Doubles a, Doubles a_low, Doubles b, Doubles b_low) {
    if constexpr (has_lows_b && !has_lows_a) return of<true, false>(b, b_low, a, a_low);
    if constexpr (!has_lows_b && !has_lows_a) return Pairs::of_product(a, b);
    Pairs product;
    if constexpr (has_lows_b) {
      product = Pairs::of_product(a_low, b_low);
      product.add_product(a_low, b);
      product.add_product(a, b_low);
    } else {
      product = Pairs::of_product(a_low, b);
    }
    product.add_product(a, b);
    return product;
  }
};

inline Doubles pair_lanes(const double* from, std::int64_t step, std::int64_t i,
                          std::int64_t lanes) {
  if (step == 0) return splat(*from);
  if (lanes == wide_lanes) return load(from + i);
  double padded[wide_lanes] = {};
  for (std::int64_t l = 0; l < lanes; ++l) padded[l] = from[i + l];
  return load(padded);
}

inline void store_lanes(double* to, Doubles x, std::int64_t lanes) {
  if (lanes == wide_lanes) return store(to, x);
  for (std::int64_t l = 0; l < lanes; ++l) to[l] = x[l];
}

// Lists the places whose bits aren't 0, and returns their number.
inline int marked_places(const double* marks, std::int64_t count, std::int32_t* places) {
  int found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    places[found] = std::int32_t(i);
    found += marks[i] == 0 ? 0 : 1;
  }
  return found;
}

inline bool has_bits(Ints bits) {
  std::uint64_t all = 0;
  for (int l = 0; l < wide_lanes; ++l) all |= bits[l];
  return all != 0;
}

// Writes results that result_at(i, lanes) gives for the places from i on.
template <class F>
int write_pairs(const PairBlock& out, const F& result_at) {
  double missed[pair_block_size + wide_lanes];
  Ints inexact{}, lows{};
  for (std::int64_t i = 0; i < out.count; i += wide_lanes) {
    std::int64_t lanes = out.count - i < wide_lanes ? out.count - i : wide_lanes;
    Pairs result = result_at(i, lanes);
    auto is_exact = Ints(result.missed == 0);
    Ints low = Ints(result.low) & is_exact;
    store_lanes(out.high + i, Doubles(Ints(result.high) & is_exact), lanes);
    store_lanes(out.low + i, Doubles(low), lanes);
    Ints missing = ~is_exact;
    store(missed + i, Doubles(missing & Ints(splat(1.0))));
    inexact |= missing;
    lows |= low << 1;
  }
  if (has_bits(lows)) *out.has_lows = true;
  return has_bits(inexact) ? marked_places(missed, out.count, out.inexact) : 0;
}

template <class Operation, bool has_lows_a, bool has_lows_b>
int pair_block_of(const PairOperand& a, const PairOperand& b, const PairBlock& out) {
  return write_pairs(out, [&](std::int64_t i, std::int64_t lanes) {
    Doubles a_low{}, b_low{};
    if constexpr (has_lows_a) a_low = pair_lanes(a.low, a.step, i, lanes);
    if constexpr (has_lows_b) b_low = pair_lanes(b.low, b.step, i, lanes);
    return Operation::template of<has_lows_a, has_lows_b>(
        pair_lanes(a.high, a.step, i, lanes), a_low, pair_lanes(b.high, b.step, i, lanes), b_low);
  });
}

template <class Operation>
int pair_block(const PairOperand& a, const PairOperand& b, const PairBlock& out) {
  if (a.low && b.low) return pair_block_of<Operation, true, true>(a, b, out);
  if (a.low) return pair_block_of<Operation, true, false>(a, b, out);
  if (b.low) return pair_block_of<Operation, false, true>(a, b, out);
  return pair_block_of<Operation, false, false>(a, b, out);
}

inline Doubles digit_lanes(const std::int32_t* from, std::int64_t lanes) {
  if (lanes == wide_lanes) return load_wide(from);
  std::int32_t padded[wide_lanes] = {};
  for (std::int64_t l = 0; l < lanes; ++l) padded[l] = from[l];
  return load_wide(padded);
}

// The top three digits are a pair, without a test: the rests of both sums are integers of few bits.
// Most sums have no more than one digit besides.
inline int pairs_of_digits(const DigitPlanes& planes, const PairBlock& out) {
  return write_pairs(out, [&](std::int64_t i, std::int64_t lanes) {
    auto term = [&](int d) {
      Doubles digit = digit_lanes(planes.digits + d * planes.stride + i, lanes);
      return digit * splat(planes.weights[d]);
    };
    int d = planes.count - 1;
    Doubles top[3]{};
    for (int k = 0; k < 3 && d >= 0; ++k, --d) top[k] = term(d);
    Doubles upper = top[0] + top[1], back = upper - top[0];
    Doubles rest = (top[0] - (upper - back)) + (top[1] - back);
    Doubles all = upper + top[2];
    back = all - upper;
    rest += (upper - (all - back)) + (top[2] - back);
    Pairs sum;
    sum.high = all + rest;
    back = sum.high - all;
    sum.low = (all - (sum.high - back)) + (rest - back);
    sum.high += splat(0.0);
    for (; d >= 0; --d) sum.add(term(d));
    return sum;
  });
}

// A second division leaves less than the value's last bit, so that the remainder is exact.
inline int odd_quotients(const PairOperand& pairs, double divisor, const OddBlock& out) {
  double unsettled[pair_block_size + wide_lanes];
  Ints open{};
  for (std::int64_t i = 0; i < out.count; i += wide_lanes) {
    std::int64_t lanes = out.count - i < wide_lanes ? out.count - i : wide_lanes;
    Doubles high = pair_lanes(pairs.high, 1, i, lanes), low{};
    if (pairs.low) low = pair_lanes(pairs.low, 1, i, lanes);
    if (divisor == 1) {
      store_lanes(out.odd + i, odd_of(high, low), lanes);
      continue;
    }
    Doubles by = splat(divisor), magnitude = magnitude_of(high);
    Doubles first = high / by, value = first + (fused(-first, by, high) + low) / by;
    Doubles rest = fused(-value, by, high) + low;
    auto is_near = Ints(magnitude > splat(0x1p-900)) & Ints(magnitude < splat(0x1p900));
    value = Doubles(bits_where(is_near, Ints(value), Ints(high)));
    store_lanes(out.odd + i, odd_of(value, Doubles(Ints(rest) & is_near)), lanes);
    Ints is_zero = Ints(high == 0) & Ints(low == 0);
    Ints unknown = ~(is_near | is_zero | Ints(high - high != 0));
    store(unsettled + i, Doubles(unknown & Ints(splat(1.0))));
    open |= unknown;
  }
  return has_bits(open) ? marked_places(unsettled, out.count, out.unsettled) : 0;
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
