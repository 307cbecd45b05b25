#include "zero/stage3/quantize.h"

#include <algorithm>
#include <cmath>

#include "core/check/error.h"
#include "core/tensor/convert.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view quantize_source = "zero/quantize";
constexpr std::int64_t weight_group_target = 8000;

// Rounds half to even; |x| is small.
float nearest_even(float x) {
  float below = std::floor(x), rest = x - below;
  if (rest < 0.5f) return below;
  if (rest > 0.5f) return below + 1;
  return std::fmod(below, 2.0f) == 0.0f ? below : below + 1;
}

void put_code(std::uint8_t* codes, std::int64_t i, std::int64_t bits, std::int32_t code) {
  if (bits == 8) {
    codes[i] = std::uint8_t(code);
    return;
  }
  auto half = std::uint8_t(code & 0xF);
  if (i % 2 == 0)
    codes[i / 2] = half;
  else
    codes[i / 2] = std::uint8_t(codes[i / 2] | (half << 4));
}

std::int32_t code_at(const std::uint8_t* codes, std::int64_t i, std::int64_t bits) {
  if (bits == 8) return std::int8_t(codes[i]);
  std::int32_t half = (codes[i / 2] >> (i % 2 == 0 ? 0 : 4)) & 0xF;
  return half < 8 ? half : half - 16;
}

}  // namespace

std::int64_t weight_group_count(std::int64_t elements) {
  if (elements <= 0 || elements % 8 != 0)
    raise(ErrorKind::value_error, quantize_source,
          "expected a positive multiple of 8 elements, got {}", elements);
  std::int64_t groups = (elements + weight_group_target - 1) / weight_group_target;
  while (elements % (8 * groups) != 0) ++groups;
  while (elements % (16 * groups) == 0 && elements / groups > weight_group_target) groups *= 2;
  return groups;
}

Quantized quantized(const Tensor& values, std::int64_t groups, std::int64_t bits) {
  std::int64_t count = values.numel();
  bool fits = groups > 0 && count % groups == 0 && (bits == 8 || count / groups % 2 == 0);
  if (!fits || (bits != 4 && bits != 8))
    raise(ErrorKind::value_error, quantize_source,
          "expected elements that can be cut into {} groups for {} bits, got {} elements", groups,
          bits, count);
  Quantized result{.codes = zeros({count * bits / 8}, DType::uint8),
                   .scales = zeros({groups}, DType::float32),
                   .bits = bits};
  if (!values.has_elements()) return result;
  Tensor halves = converted(converted(values.contiguous(), DType::float16), DType::float32);
  auto x = halves.values<float>();
  auto scales = result.scales.mutable_values<float>();
  std::uint8_t* codes = result.codes.mutable_values<std::uint8_t>().data();
  auto levels = float(1 << (bits - 1));
  std::int64_t size = count / groups;
  for (std::int64_t group = 0; group < groups; ++group) {
    float largest = 0;
    for (std::int64_t i = group * size; i < (group + 1) * size; ++i)
      largest = std::max(largest, std::abs(x[std::size_t(i)]));
    float factor = largest == 0 ? 1.0f : levels / largest;
    scales[std::size_t(group)] = 1.0f / factor;
    for (std::int64_t i = group * size; i < (group + 1) * size; ++i) {
      float code = std::clamp(nearest_even(x[std::size_t(i)] * factor), -levels, levels - 1);
      put_code(codes, i, bits, std::int32_t(code));
    }
  }
  return result;
}

Quantized quantized_weights(const Tensor& values) {
  return quantized(values, weight_group_count(values.numel()), 8);
}

Tensor dequantized(const Quantized& values, DType dtype) {
  std::int64_t count = values.numel();
  Tensor result = empty({count}, DType::float32);
  if (values.codes.has_elements()) {
    auto out = result.mutable_values<float>();
    Tensor codes = values.codes.contiguous(), kept = values.scales.contiguous();
    auto scales = kept.values<float>();
    const std::uint8_t* packed = codes.values<std::uint8_t>().data();
    std::int64_t size = count / kept.numel();
    for (std::int64_t i = 0; i < count; ++i)
      out[std::size_t(i)] = float(code_at(packed, i, values.bits)) * scales[std::size_t(i / size)];
  }
  return converted(converted(result, DType::float16), dtype);
}

}  // namespace simmesh::zero
