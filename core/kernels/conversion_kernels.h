#pragma once

// Like lanes.h: elements of one dtype as another.
namespace simmesh::SIMMESH_KERNELS {
namespace {

// odd_float rounds x to a float; of the two neighbours of an inexact value it takes the one whose
// last bit is set. Rounding that to 16 bits gives the same as rounding x once.
inline float odd_float(double x) {
  auto nearest = float(x);
  double back = nearest;
  auto bits = __builtin_bit_cast(std::uint32_t, nearest);
  std::uint32_t toward_zero = bits - ((back < 0 ? -back : back) > (x < 0 ? -x : x) ? 1u : 0u);
  bool stays = (back == x) | (x != x) | (nearest == 0);
  return __builtin_bit_cast(float, stays ? bits : toward_zero | 1u);
}

// Returns an integer of 64 bits as a double with all that rounding to 16 bits needs.
inline double odd_double_of(std::int64_t k) {
  constexpr std::int64_t exact_max = std::int64_t(1) << 52;
  std::int64_t kept = k >> 12 << 12;
  bool fits = (k > -exact_max) & (k < exact_max);
  return double(fits || kept == k ? k : kept | (1 << 12));
}

// A value outside int64 becomes the least integer.
inline std::int64_t truncated(double x) {
  constexpr double limit = 9223372036854775808.0;
  return x >= -limit && x < limit ? std::int64_t(x) : INT64_MIN;
}

// Converts one element between dtypes that are computed with as they are stored.
template <class From, class To>
struct Conversion {
  template <class T, class S>
  static T of(S x) {
    if constexpr (is_same<To, Boolean>)
      return T(x != 0);
    else if constexpr (Floating<From> && !Floating<To>)
      return T(truncated(double(x)));
    else
      return T(x);
  }
};

template <class From, class To>
void convert_plain(const typename From::Stored* in, typename To::Stored* out, std::int64_t count) {
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = Conversion<From, To>::template of<typename To::Stored>(in[i]);
}

// Converts between dtypes that are computed with as floats.
template <class From, class To>
void convert_floats(const typename From::Stored* in, typename To::Stored* out, std::int64_t count) {
  constexpr std::int64_t lanes = Float32::lanes;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) To::store(out + i, To::rounded(From::load(in + i)));
  if (i < count)
    store_part<To>(out + i, To::rounded(load_part<From>(in + i, count - i)), count - i);
}

// Converts elements to 16 bits through floats.
template <class From>
void convert_odd(const typename From::Stored* in, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if constexpr (is_same<From, Int64>)
      out[i] = odd_float(odd_double_of(in[i]));
    else
      out[i] = odd_float(double(in[i]));
}

inline constexpr std::int64_t floats_at_once = 512;

template <class From, class To>
void convert(const typename From::Stored* in, typename To::Stored* out, std::int64_t count) {
  constexpr bool from_floats = is_same<typename From::Value, Floats>;
  constexpr bool to_floats = is_same<typename To::Value, Floats>;
  constexpr bool from_short = from_floats && sizeof(typename From::Stored) == 2;
  constexpr bool to_short = to_floats && sizeof(typename To::Stored) == 2;
  if constexpr (from_floats && to_floats) {
    convert_floats<From, To>(in, out, count);
  } else if constexpr (from_short || to_short) {
    float floats[floats_at_once];
    for (std::int64_t i = 0; i < count; i += floats_at_once) {
      std::int64_t part = count - i < floats_at_once ? count - i : floats_at_once;
      if constexpr (from_short) {
        convert_floats<From, Float32>(in + i, floats, part);
        convert_plain<Float32, To>(floats, out + i, part);
      } else {
        convert_odd<From>(in + i, floats, part);
        convert_floats<Float32, To>(floats, out + i, part);
      }
    }
  } else {
    convert_plain<From, To>(in, out, count);
  }
}

// A half that isn't rounded again keeps all bits of a NaN. The dtypes must differ.
inline void convert_any(int from, int to, const std::byte* in, std::byte* out, std::int64_t count) {
  visit_elements(from, [=]<class Given>(Given) {
    using From = typename Meaning<Min, Given>::Elements;
    visit_elements(to, [=]<class To>(To) {
      convert<From, To>(reinterpret_cast<const typename From::Stored*>(in),
                        reinterpret_cast<typename To::Stored*>(out), count);
    });
  });
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
