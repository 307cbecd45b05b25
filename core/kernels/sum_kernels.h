#pragma once

// Like lanes.h: the inner loops of canonical sums for one instruction set.
namespace simmesh::SIMMESH_KERNELS {
namespace {

// The numbers are those of SumTerm.
template <int kind, class T>
T sum_term(T x, T mean) {
  if constexpr (kind == 1) return x * x;
  if constexpr (kind == 2) return x < 0 ? -x : x;
  if constexpr (kind == 3) {
    T deviation = x - mean;
    return deviation * deviation;
  }
  return x;
}

// Sums are neighbours: each pass over the terms keeps a strip of them in registers.
template <int kind, class T>
void chain_columns(const LineTerms<T>& terms, T* totals) {
  constexpr int strip = 4 * vector_bytes / int(sizeof(T));
  std::int64_t j = 0;
  for (; j + strip <= terms.width; j += strip) {
    T sums[strip], means[strip] = {};
    for (int l = 0; l < strip; ++l) sums[l] = totals[j + l];
    if constexpr (kind == 3)
      for (int l = 0; l < strip; ++l) means[l] = T(terms.means[j + l]);
    const T* x = terms.data + j;
    for (std::int64_t i = 0; i < terms.count; ++i, x += terms.stride)
      for (int l = 0; l < strip; ++l) sums[l] += sum_term<kind>(x[l], means[l]);
    for (int l = 0; l < strip; ++l) totals[j + l] = sums[l];
  }
  for (std::int64_t i = 0; i < terms.count; ++i)
    for (std::int64_t l = j; l < terms.width; ++l)
      totals[l] +=
          sum_term<kind>(terms.data[i * terms.stride + l], kind == 3 ? T(terms.means[l]) : T(0));
}

// Each sum's terms are neighbours: several chains run at once.
template <int kind, class T>
void chain_lines_of(const LineTerms<T>& terms, T* totals) {
  constexpr int strip = 8;
  std::int64_t j = 0;
  for (; j + strip <= terms.width; j += strip) {
    T sums[strip], means[strip] = {};
    for (int l = 0; l < strip; ++l) sums[l] = totals[j + l];
    if constexpr (kind == 3)
      for (int l = 0; l < strip; ++l) means[l] = T(terms.means[j + l]);
    const T* x = terms.data + j * terms.stride;
    for (std::int64_t i = 0; i < terms.count; ++i, ++x)
#pragma GCC unroll 8
      for (int l = 0; l < strip; ++l) sums[l] += sum_term<kind>(x[l * terms.stride], means[l]);
    for (int l = 0; l < strip; ++l) totals[j + l] = sums[l];
  }
  for (; j < terms.width; ++j) {
    T mean = kind == 3 ? T(terms.means[j]) : T(0);
    for (std::int64_t i = 0; i < terms.count; ++i)
      totals[j] += sum_term<kind>(terms.data[j * terms.stride + i], mean);
  }
}

template <class T>
void chain_lines(const LineTerms<T>& terms, T* totals) {
  switch (terms.term + (terms.transposed ? 4 : 0)) {
    case 0: return chain_columns<0>(terms, totals);
    case 1: return chain_columns<1>(terms, totals);
    case 2: return chain_columns<2>(terms, totals);
    case 3: return chain_columns<3>(terms, totals);
    case 4: return chain_lines_of<0>(terms, totals);
    case 5: return chain_lines_of<1>(terms, totals);
    case 6: return chain_lines_of<2>(terms, totals);
    case 7: return chain_lines_of<3>(terms, totals);
  }
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
