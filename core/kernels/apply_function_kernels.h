#pragma once

// Like lanes.h: the functions of whole arrays.
namespace simmesh::SIMMESH_KERNELS {
namespace {

// x may be result, but may not overlap it otherwise. A loop that calls a function isn't vectorised,
// so long functions are inlined too.
template <class T, class F>
__attribute__((flatten)) void each(const T* x, T* result, std::int64_t count, F f) {
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (std::int64_t i = 0; i < count; ++i) result[i] = T(f(double(x[i])));
}

// Angles out of reach of the vector code are computed again, one by one. The operands are kept
// block by block for that, since the result may overwrite them.
template <int quarters, class T>
void sines(const T* x, T* result, std::int64_t count) {
  constexpr std::int64_t part = 256;
  for (std::int64_t begin = 0; begin < count; begin += part) {
    std::int64_t width = count - begin < part ? count - begin : part;
    T kept[part];
    for (std::int64_t i = 0; i < width; ++i) kept[i] = x[begin + i];
    each(kept, result + begin, width, [](double y) { return turned_sine<quarters>(y); });
    for (std::int64_t i = 0; i < width; ++i)
      if (!(absolute(double(kept[i])) < near_angle_max))
        result[begin + i] = T(large_sine<quarters>(double(kept[i])));
  }
}

// The cases are in the order of Function.
template <class T>
void apply(int function, const T* x, T* result, std::int64_t count) {
  switch (function) {
    case 0: return each(x, result, count, [](double y) { return exp_of(y); });
    case 1: return each(x, result, count, [](double y) { return expm1_of(y); });
    case 2: return each(x, result, count, [](double y) { return log_of(y); });
    case 3: return each(x, result, count, [](double y) { return log1p_of(y); });
    case 4: return each(x, result, count, [](double y) { return log2_of(y); });
    case 5: return each(x, result, count, [](double y) { return tanh_of(y); });
    case 6: return each(x, result, count, [](double y) { return sigmoid_of(y); });
    case 7: return each(x, result, count, [](double y) { return erf_of(y); });
    case 8: return sines<0>(x, result, count);
    case 9: return sines<1>(x, result, count);
    case 10: return each(x, result, count, [](double y) { return square_root(y); });
    case 11: return each(x, result, count, [](double y) { return reciprocal_root(y); });
    case 12: return each(x, result, count, [](double y) { return log10_of(y); });
    case 13: return each(x, result, count, [](double y) { return sinh_of(y); });
    case 14: return each(x, result, count, [](double y) { return cosh_of(y); });
    case 15: return each(x, result, count, [](double y) { return asin_of(y); });
    case 16: return each(x, result, count, [](double y) { return acos_of(y); });
    case 17: return each(x, result, count, [](double y) { return atan_of(y); });
    case 18: return each(x, result, count, [](double y) { return asinh_of(y); });
    case 19: return each(x, result, count, [](double y) { return acosh_of(y); });
    case 20: return each(x, result, count, [](double y) { return atanh_of(y); });
    case 21: return each(x, result, count, [](double y) { return erfc_of(y); });
  }
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
