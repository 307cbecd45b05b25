#include <type_traits>

#include <simmesh/core/arithmetic/combine.h>
#include <simmesh/core/check/error.h>

namespace simmesh {

namespace {

template <class T>
constexpr bool is_sixteen_bit = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Integers wrap: the arithmetic is that of the unsigned type.
template <class T, class F>
T wrapping(T a, T b, F f) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(f(static_cast<U>(a), static_cast<U>(b))));
}

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>)
      return a || b;
    else if constexpr (std::is_integral_v<T>)
      return wrapping(a, b, [](auto x, auto y) { return x + y; });
    else
      return T(a + b);
  }
};

struct Multiply {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>)
      return a && b;
    else if constexpr (std::is_integral_v<T>)
      return wrapping(a, b, [](auto x, auto y) { return x * y; });
    else
      return T(a * b);
  }
};

struct Min {
  template <class T>
  static T apply(T a, T b) {
    return (a < b || a != a) ? a : b;
  }
};

struct Max {
  template <class T>
  static T apply(T a, T b) {
    return (a > b || a != a) ? a : b;
  }
};

struct Band {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Bor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Bxor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

template <class Op, class T>
void combine(std::byte* out, const std::byte* a, const std::byte* b, std::int64_t count) {
  auto* to = reinterpret_cast<T*>(out);
  auto* x = reinterpret_cast<const T*>(a);
  auto* y = reinterpret_cast<const T*>(b);
  for (std::int64_t i = 0; i < count; ++i) to[i] = Op::apply(x[i], y[i]);
}

// Several rows a pass: what is out[i] so far is read and written once for all of them.
template <class Op, class T>
void fold(std::byte* out, gsl::span<const std::byte* const> rows, std::size_t at,
          std::int64_t count) {
  auto* __restrict to = reinterpret_cast<T*>(out);
  auto row = [&](std::size_t r) { return reinterpret_cast<const T*>(rows[r] + at); };
  std::size_t r = 0;
  for (; r + 8 <= rows.size(); r += 8) {
    const T* x[] = {row(r),     row(r + 1), row(r + 2), row(r + 3),
                    row(r + 4), row(r + 5), row(r + 6), row(r + 7)};
    for (std::int64_t i = 0; i < count; ++i) {
      T total = to[i];
#pragma GCC unroll 8
      for (const T* terms : x) total = Op::apply(total, terms[i]);
      to[i] = total;
    }
  }
  for (; r < rows.size(); ++r) {
    const T* a = row(r);
    for (std::int64_t i = 0; i < count; ++i) to[i] = Op::apply(to[i], a[i]);
  }
}

// The two shapes in which an operation's kernel comes.
struct Combines {
  using Kernel = Combine;
  template <class Op, class T>
  static constexpr Combine kernel = combine<Op, T>;
};
struct Folds {
  using Kernel = Fold;
  template <class Op, class T>
  static constexpr Fold kernel = fold<Op, T>;
};

template <class Kernels, class Op>
typename Kernels::Kernel for_any(DType dtype) {
  return visit_dtype(dtype, []<class T>(T) { return Kernels::template kernel<Op, T>; });
}

template <class Kernels, class Op>
auto for_integers(DType dtype) {
  using Kernel = typename Kernels::Kernel;
  return visit_dtype(dtype, []<class T>(T) -> Kernel {
    if constexpr (std::is_integral_v<T>)
      return Kernels::template kernel<Op, T>;
    else
      return nullptr;
  });
}

template <class Kernels>
typename Kernels::Kernel kernel_of(ReduceOp op, DType dtype) {
  check_reduction(op, dtype);
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
    case ReduceOp::premul_sum: return for_any<Kernels, Sum>(dtype);
    case ReduceOp::min: return for_any<Kernels, Min>(dtype);
    case ReduceOp::max: return for_any<Kernels, Max>(dtype);
    case ReduceOp::product: return for_any<Kernels, Multiply>(dtype);
    case ReduceOp::band: return for_integers<Kernels, Band>(dtype);
    case ReduceOp::bor: return for_integers<Kernels, Bor>(dtype);
    case ReduceOp::bxor: return for_integers<Kernels, Bxor>(dtype);
  }
  SIMMESH_CHECK(false, "unknown ReduceOp {}", static_cast<int>(op));
}

}  // namespace

void check_reduction(ReduceOp op, DType dtype) {
  bool bitwise = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
  bool divides = op == ReduceOp::avg || op == ReduceOp::premul_sum;
  if (bitwise && is_floating_point(dtype))
    raise(ErrorKind::type_error, "arithmetic/reduce",
          "expected an integer dtype or bool for {}, got {}", to_string(op), to_string(dtype));
  if (divides && !is_floating_point(dtype))
    raise(ErrorKind::type_error, "arithmetic/reduce",
          "expected a floating dtype for {}, got {}: the result would be truncated", to_string(op),
          to_string(dtype));
}

Combine combine_of(ReduceOp op, DType dtype) { return kernel_of<Combines>(op, dtype); }

Fold fold_of(ReduceOp op, DType dtype) { return kernel_of<Folds>(op, dtype); }

void scale(std::byte* out, const std::byte* values, double factor, DType dtype,
           std::int64_t count) {
  visit_dtype(dtype, [&]<class T>(T) {
    T rounded = rounded_to<T>(factor);
    auto* to = reinterpret_cast<T*>(out);
    auto* from = reinterpret_cast<const T*>(values);
    for (std::int64_t i = 0; i < count; ++i) to[i] = Multiply::apply(from[i], rounded);
  });
}

void divide(std::byte* values, double divisor, DType dtype, std::int64_t count) {
  check_reduction(ReduceOp::avg, dtype);
  visit_dtype(dtype, [&]<class T>(T) {
    auto* x = reinterpret_cast<T*>(values);
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (is_sixteen_bit<T>)
        x[i] = T(static_cast<float>(x[i]) / static_cast<float>(divisor));
      else
        x[i] = static_cast<T>(x[i] / static_cast<T>(divisor));
    }
  });
}

}  // namespace simmesh
