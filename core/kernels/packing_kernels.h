#pragma once

// Like lanes.h: packing operands of products, for one instruction set.
namespace simmesh::SIMMESH_KERNELS {
namespace {

typedef float Quad __attribute__((vector_size(16)));
typedef std::int32_t QuadBits __attribute__((vector_size(16)));
typedef double WideQuad __attribute__((vector_size(32)));
typedef float LooseQuad __attribute__((vector_size(16), aligned(4), may_alias));
typedef double LooseWideQuad __attribute__((vector_size(32), aligned(8), may_alias));

inline Quad load_quad(const float* p) { return *reinterpret_cast<const LooseQuad*>(p); }

// Four neighbours of a packed row, of lines from the given one on; into doubles they go scaled and
// with an offset, and as 0 where they aren't finite.
inline void put(Quad x, const FloatPanels&, std::int64_t, float* out) {
  *reinterpret_cast<LooseQuad*>(out) = x;
}
inline void put(Quad x, const FloatPanels& p, std::int64_t line, double* out) {
  x = Quad(QuadBits(x) & (x - x == Quad{}));
  *reinterpret_cast<LooseWideQuad*>(out) =
      __builtin_convertvector(x, WideQuad) *
          *reinterpret_cast<const LooseWideQuad*>(p.scales + line) +
      p.offset;
}
inline void put(float x, const FloatPanels&, std::int64_t, float* out) { *out = x; }
inline void put(float x, const FloatPanels& p, std::int64_t line, double* out) {
  *out = (x - x == 0 ? double(x) * p.scales[line] : 0.0) + p.offset;
}
// A whole vector of doubles.
inline void put_vector(const float* from, const FloatPanels& p, std::int64_t line, double* out) {
  Doubles x = load_wide(from);
  x = Doubles(Ints(x) & Ints(x - x == Doubles{}));
  store(out, x * load(p.scales + line) + splat(p.offset));
}

// Packs the rows of a few steps of the depth, in all panels: each row is read at its place.
template <class T>
void pack_rows(const FloatPanels& p, std::int64_t k_begin, std::int64_t k_end, T* out) {
  for (std::int64_t first = 0; first < p.line_count; first += p.width, out += p.depth * p.width) {
    std::int64_t lines = p.line_count - first < p.width ? p.line_count - first : p.width;
    for (std::int64_t k = k_begin; k < k_end; ++k) {
      const float* row = p.data + first + k * p.depth_stride;
      T* to = out + k * p.width;
      std::int64_t l = 0;
      if constexpr (sizeof(T) == sizeof(double))
        for (; l + lanes_of<double> <= lines; l += lanes_of<double>)
          put_vector(row + l, p, first + l, to + l);
      for (; l + 4 <= lines; l += 4) put(load_quad(row + l), p, first + l, to + l);
      for (; l < lines; ++l) put(row[l], p, first + l, to + l);
    }
  }
}

// Packs four lines of a panel, whose elements are neighbours: squares of four are transposed.
template <class T>
void pack_four_lines(const FloatPanels& p, std::int64_t line, T* out) {
  const float* a = p.data + line * p.line_stride;
  const float *b = a + p.line_stride, *c = b + p.line_stride, *d = c + p.line_stride;
  std::int64_t k = 0;
  for (; k + 4 <= p.depth; k += 4) {
    Quad rows[4] = {load_quad(a + k), load_quad(b + k), load_quad(c + k), load_quad(d + k)};
    Quad ab = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
    Quad ab_rest = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
    Quad cd = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    Quad cd_rest = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    T* to = out + k * p.width;
    put(__builtin_shufflevector(ab, cd, 0, 1, 4, 5), p, line, to);
    put(__builtin_shufflevector(ab, cd, 2, 3, 6, 7), p, line, to + p.width);
    put(__builtin_shufflevector(ab_rest, cd_rest, 0, 1, 4, 5), p, line, to + 2 * p.width);
    put(__builtin_shufflevector(ab_rest, cd_rest, 2, 3, 6, 7), p, line, to + 3 * p.width);
  }
  for (; k < p.depth; ++k) put(Quad{a[k], b[k], c[k], d[k]}, p, line, out + k * p.width);
}

template <class T>
void pack_line(const FloatPanels& p, std::int64_t line, T* out) {
  const float* from = p.data + line * p.line_stride;
  for (std::int64_t k = 0; k < p.depth; ++k)
    put(from[k * p.depth_stride], p, line, out + k * p.width);
}

template <class T>
void pack_lines_of(const FloatPanels& p, T* out) {
  for (std::int64_t first = 0; first < p.line_count; first += p.width, out += p.depth * p.width) {
    std::int64_t lines = p.line_count - first < p.width ? p.line_count - first : p.width;
    std::int64_t l = 0;
    if (p.depth_stride == 1 && lines >= 4) {
      for (; l + 4 <= lines; l += 4) pack_four_lines(p, first + l, out + l);
      // Some lines twice rather than the last few one by one.
      if (l < lines) pack_four_lines(p, first + lines - 4, out + lines - 4);
    } else {
      for (; l < lines; ++l) pack_line(p, first + l, out + l);
    }
  }
}

template <class T>
void pack(const FloatPanels& p, T* out) {
  constexpr std::int64_t rows_at_once = 8;
  std::int64_t rest = p.line_count % p.width;
  if (rest != 0) {
    T* last = out + (p.line_count - rest) * p.depth;
    for (std::int64_t i = 0; i < p.depth * p.width; ++i) last[i] = T(p.offset);
  }
  if (p.line_stride != 1) return pack_lines_of(p, out);
  for (std::int64_t k = 0; k < p.depth; k += rows_at_once)
    pack_rows(p, k, k + rows_at_once < p.depth ? k + rows_at_once : p.depth, out);
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
