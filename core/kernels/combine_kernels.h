#pragma once

// Like lanes.h: reductions of operands, element by element.
namespace simmesh::SIMMESH_KERNELS {
namespace {

struct Sum {
  template <class E, class V>
  static V apply(V a, V b) {
    if constexpr (Floating<E>)
      return E::rounded(a + b);
    else
      return V(typename E::Unsigned(a) + typename E::Unsigned(b));
  }
};

struct Multiply {
  template <class E, class V>
  static V apply(V a, V b) {
    if constexpr (Floating<E>)
      return E::rounded(a * b);
    else
      return V(typename E::Unsigned(a) * typename E::Unsigned(b));
  }
};

// Passes a NaN on; of two NaNs the first.
struct Min {
  template <class E, class V>
  static V apply(V a, V b) {
    V smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};

struct Max {
  template <class E, class V>
  static V apply(V a, V b) {
    V larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};

struct Band {
  template <class E, class V>
  static V apply(V a, V b) {
    return a & b;
  }
};
struct Bor {
  template <class E, class V>
  static V apply(V a, V b) {
    return a | b;
  }
};
struct Bxor {
  template <class E, class V>
  static V apply(V a, V b) {
    return a ^ b;
  }
};

// Mask of the first elements of a vector; the others are 0.
template <class E>
typename E::Value load_part(const typename E::Stored* p, std::int64_t count) {
  typename E::Stored part[E::lanes] = {};
  for (std::int64_t i = 0; i < count; ++i) part[i] = p[i];
  return E::load(part);
}
template <class E>
void store_part(typename E::Stored* p, typename E::Value x, std::int64_t count) {
  typename E::Stored part[E::lanes];
  E::store(part, x);
  for (std::int64_t i = 0; i < count; ++i) p[i] = part[i];
}

// Writes out[i] = f(a[i], b[i]), a vector at a time.
template <class E, class F>
void each_pair(std::byte* out, const std::byte* a, const std::byte* b, std::int64_t count, F f) {
  using Stored = typename E::Stored;
  auto* to = reinterpret_cast<Stored*>(out);
  auto* x = reinterpret_cast<const Stored*>(a);
  auto* y = reinterpret_cast<const Stored*>(b);
  std::int64_t i = 0;
  for (; i + 2 * E::lanes <= count; i += 2 * E::lanes) {
    auto first = f(E::load(x + i), E::load(y + i));
    auto second = f(E::load(x + i + E::lanes), E::load(y + i + E::lanes));
    E::store(to + i, first);
    E::store(to + i + E::lanes, second);
  }
  for (; i + E::lanes <= count; i += E::lanes) E::store(to + i, f(E::load(x + i), E::load(y + i)));
  std::int64_t left = count - i;
  if (left > 0)
    store_part<E>(to + i, f(load_part<E>(x + i, left), load_part<E>(y + i, left)), left);
}

template <class Op, class E>
void combine(std::byte* out, const std::byte* a, const std::byte* b, std::int64_t count) {
  using V = typename E::Value;
  each_pair<E>(out, a, b, count, [](V x, V y) { return Op::template apply<E>(x, y); });
}

// Rows that are added in one pass: enough that the result is seldom read and written, and few
// enough that the processor still prefetches each row.
inline constexpr std::int64_t rows_a_pass = 8;

// A strip of elements stays in registers while the rows are added to it.
template <class Op, class E, int vectors>
void fold_strip(typename E::Stored* to, const FoldedRows& rows, std::int64_t first,
                std::int64_t i) {
  typename E::Value totals[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) totals[v] = E::load(to + v * E::lanes);
  std::int64_t end = first + rows_a_pass < rows.count ? first + rows_a_pass : rows.count;
  for (std::int64_t r = first; r < end; ++r) {
    auto* x = reinterpret_cast<const typename E::Stored*>(rows.data[r] + rows.at) + i;
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      totals[v] = Op::template apply<E>(totals[v], E::load(x + v * E::lanes));
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) E::store(to + v * E::lanes, totals[v]);
}

template <class Op, class E>
void fold_rest(typename E::Stored* to, const FoldedRows& rows, std::int64_t i, std::int64_t count) {
  typename E::Value total = load_part<E>(to, count);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    auto* x = reinterpret_cast<const typename E::Stored*>(rows.data[r] + rows.at) + i;
    total = Op::template apply<E>(total, load_part<E>(x, count));
  }
  store_part<E>(to, total, count);
}

template <class Op, class E>
void fold(std::byte* out, const FoldedRows& rows, std::int64_t count) {
  constexpr int vectors = 4;
  auto* to = reinterpret_cast<typename E::Stored*>(out);
  std::int64_t whole = count / E::lanes * E::lanes;
  for (std::int64_t first = 0; first < rows.count; first += rows_a_pass) {
    std::int64_t i = 0;
    for (; i + vectors * E::lanes <= whole; i += vectors * E::lanes)
      fold_strip<Op, E, vectors>(to + i, rows, first, i);
    for (; i < whole; i += E::lanes) fold_strip<Op, E, 1>(to + i, rows, first, i);
  }
  if (whole < count) fold_rest<Op, E>(to + whole, rows, whole, count - whole);
}

// visit_elements calls f with the traits of a DType's number and returns what it returns.
template <class F>
auto visit_elements(int dtype, F f) {
  switch (dtype) {
    case 0: return f(Float64{});
    case 1: return f(Float32{});
    case 2: return f(BFloat16s{});
    case 3: return f(Float16s{});
    case 4: return f(Int64{});
    case 5: return f(Int32{});
    case 6: return f(UInt8{});
    default: return f(Boolean{});
  }
}

// The two shapes of an operation's kernel.
struct Combines {
  using Kernel = CombineKernel;
  template <class Op, class E>
  static constexpr Kernel kernel = combine<Op, E>;
};
struct Folds {
  using Kernel = FoldKernel;
  template <class Op, class E>
  static constexpr Kernel kernel = fold<Op, E>;
};

// Meaning names the operation that an operation on some elements is computed as: of 0 and 1 a sum
// is their OR and a product their AND; the smaller or larger of two halves is one of them.
template <class Op, class E>
struct Meaning {
  using Operation = Op;
  using Elements = E;
};
template <>
struct Meaning<Sum, Boolean> : Meaning<Bor, Boolean> {};
template <>
struct Meaning<Multiply, Boolean> : Meaning<Band, Boolean> {};
template <>
struct Meaning<Min, Float16s> : Meaning<Min, WholeFloat16s> {};
template <>
struct Meaning<Max, Float16s> : Meaning<Max, WholeFloat16s> {};

template <class Kernels, class Op>
typename Kernels::Kernel for_any(int dtype) {
  return visit_elements(dtype, []<class E>(E) -> typename Kernels::Kernel {
    using Means = Meaning<Op, E>;
    return Kernels::template kernel<typename Means::Operation, typename Means::Elements>;
  });
}

template <class Kernels, class Op>
typename Kernels::Kernel for_integers(int dtype) {
  return visit_elements(dtype, []<class E>(E) -> typename Kernels::Kernel {
    if constexpr (Floating<E>)
      return nullptr;
    else
      return Kernels::template kernel<Op, E>;
  });
}

// The cases are in the order of ReduceOp.
template <class Kernels>
typename Kernels::Kernel kernel_of(int op, int dtype) {
  switch (op) {
    case 2: return for_any<Kernels, Min>(dtype);
    case 3: return for_any<Kernels, Max>(dtype);
    case 4: return for_any<Kernels, Multiply>(dtype);
    case 5: return for_integers<Kernels, Band>(dtype);
    case 6: return for_integers<Kernels, Bor>(dtype);
    case 7: return for_integers<Kernels, Bxor>(dtype);
    default: return for_any<Kernels, Sum>(dtype);
  }
}

// Returns a vector in which all elements are the one at p.
template <class E>
typename E::Value all_of(const typename E::Stored* p) {
  typename E::Stored copies[E::lanes];
  for (int i = 0; i < E::lanes; ++i) copies[i] = *p;
  return E::load(copies);
}

inline void scale(int dtype, std::byte* out, const std::byte* values, const std::byte* factor,
                  std::int64_t count) {
  visit_elements(dtype, [=]<class E>(E) {
    using V = typename E::Value;
    V factors = all_of<E>(reinterpret_cast<const typename E::Stored*>(factor));
    each_pair<E>(out, values, values, count, [=](V x, V) {
      return Meaning<Multiply, E>::Operation::template apply<E>(x, factors);
    });
  });
}

inline void divide(int dtype, std::byte* values, double divisor, std::int64_t count) {
  visit_elements(dtype, [=]<class E>(E) {
    using V = typename E::Value;
    if constexpr (Floating<E>) {
      decltype(V{}[0] + 0) rounded = decltype(V{}[0] + 0)(divisor);
      each_pair<E>(values, values, values, count, [=](V x, V) { return E::rounded(x / rounded); });
    }
  });
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
