#include "core/arithmetic/products/packing.h"

#include <algorithm>

namespace simmesh {

namespace {

template <class T, class S>
T widened_to(S x) {
  if constexpr (std::is_arithmetic_v<S>)
    return static_cast<T>(x);
  else
    return static_cast<T>(static_cast<float>(x));
}

template <class T, class S>
T packed(const Panels& panels, std::int64_t line, S x) {
  T wide = widened_to<T>(x);
  if (panels.scales.empty()) return wide;
  T scaled = wide * static_cast<T>(panels.scales[std::size_t(line)]);
  if (!panels.more_scales.empty()) scaled *= static_cast<T>(panels.more_scales[std::size_t(line)]);
  return (wide - wide == 0 ? scaled : T(0)) + T(panels.offset);
}

// Packs lines whose elements are side by side, one pass a line.
template <class T, class S, class F>
void pack_lines(const S* source, std::int64_t line_stride, std::int64_t depth_stride,
                const Panels& panels, std::int64_t first, std::int64_t lines, T* out, F&& convert) {
  for (std::int64_t l = 0; l < lines; ++l) {
    const S* line = source + (first + l) * line_stride;
    for (std::int64_t k = 0; k < panels.depth; ++k)
      out[k * panels.width + l] = convert(first + l, line[k * depth_stride]);
  }
}

template <class T, class S, class F>
void pack_all(const S* source, std::int64_t line_stride, std::int64_t depth_stride,
              const Panels& panels, T* out, F&& convert) {
  for (std::int64_t p = 0; p < panels.line_count; p += panels.width) {
    std::int64_t lines = std::min(panels.width, panels.line_count - p);
    std::int64_t first = panels.line_begin + p;
    if (lines < panels.width) std::fill(out, out + panels.depth * panels.width, T(panels.offset));
    if (line_stride == 1) {
      for (std::int64_t k = 0; k < panels.depth; ++k)
        for (std::int64_t l = 0; l < lines; ++l)
          out[k * panels.width + l] = convert(first + l, source[first + l + k * depth_stride]);
    } else {
      pack_lines(source, line_stride, depth_stride, panels, first, lines, out, convert);
    }
    out += panels.depth * panels.width;
  }
}

template <class T, class S>
void pack_from(const ProductOperand& operand, const Panels& panels, T* out) {
  const S* source =
      reinterpret_cast<const S*>(operand.data) + panels.depth_begin * operand.column_stride;
  std::int64_t line_stride = operand.row_stride, depth_stride = operand.column_stride;
  if (panels.scales.empty()) {
    pack_all(source, line_stride, depth_stride, panels, out,
             [](std::int64_t, S x) { return widened_to<T>(x); });
  } else if (panels.more_scales.empty()) {
    const double* scales = panels.scales.data();
    T offset = T(panels.offset);
    pack_all(source, line_stride, depth_stride, panels, out, [=](std::int64_t line, S x) {
      T wide = widened_to<T>(x);
      return (wide - wide == 0 ? wide * static_cast<T>(scales[line]) : T(0)) + offset;
    });
  } else {
    pack_all(source, line_stride, depth_stride, panels, out,
             [&panels](std::int64_t line, S x) { return packed<T>(panels, line, x); });
  }
}

}  // namespace

template <class T>
void pack_panels(const ProductOperand& operand, const Panels& panels, const Kernels& kernels,
                 T* out) {
  bool scaled = !panels.scales.empty();
  if (operand.dtype == DType::float32 && panels.more_scales.empty() &&
      scaled == std::is_same_v<T, double>) {
    FloatPanels floats{.data = reinterpret_cast<const float*>(operand.data) +
                               panels.line_begin * operand.row_stride +
                               panels.depth_begin * operand.column_stride,
                       .line_stride = operand.row_stride,
                       .depth_stride = operand.column_stride,
                       .line_count = panels.line_count,
                       .depth = panels.depth,
                       .width = panels.width,
                       .scales = scaled ? panels.scales.data() + panels.line_begin : nullptr,
                       .offset = panels.offset};
    if constexpr (std::is_same_v<T, float>)
      return kernels.pack_float(floats, out);
    else
      return kernels.pack_double(floats, out);
  }
  switch (operand.dtype) {
    case DType::float64: return pack_from<T, double>(operand, panels, out);
    case DType::float32: return pack_from<T, float>(operand, panels, out);
    case DType::bfloat16: return pack_from<T, BFloat16>(operand, panels, out);
    case DType::float16: return pack_from<T, Half>(operand, panels, out);
    default: SIMMESH_CHECK(false, "panels of {}", to_string(operand.dtype));
  }
}

template void pack_panels<float>(const ProductOperand&, const Panels&, const Kernels&, float*);
template void pack_panels<double>(const ProductOperand&, const Panels&, const Kernels&, double*);

}  // namespace simmesh
