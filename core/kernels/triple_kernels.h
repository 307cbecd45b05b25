#pragma once

// Like lanes.h: sums in the manner of TripleSum for one instruction set.
namespace simmesh::SIMMESH_KERNELS {
namespace {

// A vector of TripleSums.
struct Triples {
  Doubles high{}, low{}, missed{};

  void add(Doubles term) {
    Doubles sum = high + term, back = sum - high;
    Doubles rest = (high - (sum - back)) + (term - back);
    high = sum;
    sum = low + rest;
    back = sum - low;
    rest = (low - (sum - back)) + (rest - back);
    low = sum;
    missed += rest < 0 ? -rest : rest;
  }
};

inline Doubles triple_load(const float* p) { return load_wide(p); }
inline Doubles triple_load(const double* p) { return load(p); }

// The squares of float64 are pairs of doubles, but for those that are too small for that: their sum
// is left to a longer accumulator.
template <int kind, class S>
void add_triple_term(Doubles x, Doubles mean, Triples& sums) {
  if constexpr (kind == 1 && sizeof(S) == sizeof(double)) {
    Doubles square = x * x;
    sums.add(square);
    sums.add(fused(x, x, -square));
    sums.missed += ((square < splat(0x1p-900)) & (x != 0)) ? splat(__builtin_inf()) : Doubles{};
  } else if constexpr (kind == 1) {
    sums.add(x * x);
  } else if constexpr (kind == 2) {
    sums.add(Doubles(Ints(x) & ~(std::uint64_t(1) << 63)));
  } else if constexpr (kind == 3) {
    Doubles deviation = x - mean;
    sums.add(deviation * deviation);
  } else {
    sums.add(x);
  }
}

// Sums are neighbours.
template <int kind, class S>
void triple_columns(const LineTerms<S>& terms, const TripleLines& out) {
  for (std::int64_t j = 0; j < terms.width; j += wide_lanes) {
    std::int64_t lanes = terms.width - j < wide_lanes ? terms.width - j : wide_lanes;
    Triples sums;
    Doubles means{};
    double* states[] = {out.high + j, out.low + j, out.missed + j};
    Doubles* vectors[] = {&sums.high, &sums.low, &sums.missed};
    for (int s = 0; s < 3; ++s)
      for (std::int64_t l = 0; l < lanes; ++l) (*vectors[s])[l] = states[s][l];
    if constexpr (kind == 3)
      for (std::int64_t l = 0; l < lanes; ++l) means[l] = terms.means[j + l];
    const S* x = terms.data + j;
    if (lanes == wide_lanes) {
      for (std::int64_t i = 0; i < terms.count; ++i, x += terms.stride)
        add_triple_term<kind, S>(triple_load(x), means, sums);
    } else {
      for (std::int64_t i = 0; i < terms.count; ++i, x += terms.stride) {
        S row[wide_lanes] = {};
        for (std::int64_t l = 0; l < lanes; ++l) row[l] = x[l];
        add_triple_term<kind, S>(triple_load(row), means, sums);
      }
    }
    for (int s = 0; s < 3; ++s)
      for (std::int64_t l = 0; l < lanes; ++l) states[s][l] = (*vectors[s])[l];
  }
}

// The lanes of a vector added to one sum.
inline void add_lanes(const Triples& sums, const TripleLines& out, std::int64_t j) {
  Triples total;
  total.high[0] = out.high[j];
  total.low[0] = out.low[j];
  total.missed[0] = out.missed[j];
  for (int l = 0; l < wide_lanes; ++l) {
    total.add(Doubles{sums.high[l]});
    total.add(Doubles{sums.low[l]});
    total.missed[0] += sums.missed[l];
  }
  out.high[j] = total.high[0];
  out.low[j] = total.low[0];
  out.missed[j] = total.missed[0];
}

// Each sum's terms are neighbours.
template <int kind, class S>
void triple_lines_of(const LineTerms<S>& terms, const TripleLines& out) {
  for (std::int64_t j = 0; j < terms.width; ++j) {
    Triples sums;
    double mean = kind == 3 ? terms.means[j] : 0.0;
    const S* x = terms.data + j * terms.stride;
    std::int64_t i = 0;
    for (; i + wide_lanes <= terms.count; i += wide_lanes)
      add_triple_term<kind, S>(triple_load(x + i), splat(mean), sums);
    if (i < terms.count) {
      // A mean's square is no term: where lanes are missing, the mean is.
      S rest[wide_lanes] = {};
      double means[wide_lanes] = {};
      for (std::int64_t l = 0; i + l < terms.count; ++l) {
        rest[l] = x[i + l];
        means[l] = mean;
      }
      add_triple_term<kind, S>(triple_load(rest), load(means), sums);
    }
    add_lanes(sums, out, j);
  }
}

template <class S>
void triple_sums(const LineTerms<S>& terms, const TripleLines& out) {
  switch (terms.term + (terms.transposed ? 4 : 0)) {
    case 0: return triple_columns<0>(terms, out);
    case 1: return triple_columns<1>(terms, out);
    case 2: return triple_columns<2>(terms, out);
    case 3: return triple_columns<3>(terms, out);
    case 4: return triple_lines_of<0>(terms, out);
    case 5: return triple_lines_of<1>(terms, out);
    case 6: return triple_lines_of<2>(terms, out);
    case 7: return triple_lines_of<3>(terms, out);
  }
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
