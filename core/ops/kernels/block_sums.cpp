#include "core/ops/kernels/block_sums.h"

#include <algorithm>

#include "core/arithmetic/compute.h"
#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/scaled_sums.h"
#include "core/arithmetic/unrounded.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

DType block_sum_dtype(DType dtype) {
  if (dtype == DType::float64) return dtype;
  return is_floating_point(dtype) ? DType::float32 : DType::int64;
}

template <class T>
void add_values(gsl::span<T> out, const BlockSum& sum, gsl::span<const T> source) {
  std::size_t block = std::size_t(sum.block);
  T alpha = T(sum.alpha);
  for (std::size_t i = 0; i < sum.places.size(); ++i) {
    if (sum.places[i] < 0) continue;
    T* to = out.data() + std::size_t(sum.places[i]) * block;
    const T* from = source.data() + i * block;
    for (std::size_t k = 0; k < block; ++k) to[k] += alpha * from[k];
  }
}

Tensor product(const Tensor& x, double factor) {
  Tensor contiguous = x.contiguous(), result = empty(x.shape(), x.dtype());
  auto multiply = [&]<class T>(T) {
    gsl::span<const T> from = contiguous.values<T>();
    std::transform(from.begin(), from.end(), result.mutable_values<T>().begin(),
                   [&](T value) { return value * T(factor); });
  };
  x.dtype() == DType::float64 ? multiply(double()) : multiply(float());
  return result;
}

// Adds the terms of each block together: the block of x, then those of the source in their order.
void add_blocks_exactly(const BlockSum& sum, Tensor& out) {
  DType dtype = sum.alpha == 1 ? out.dtype() : block_sum_dtype(out.dtype());
  Tensor x = converted(sum.x, dtype).contiguous(), source = converted(sum.source, dtype);
  source = sum.alpha == 1 ? source.contiguous() : product(source, sum.alpha);
  adopt_(out, sum.x);
  if (out.numel() == 0) return;
  Places order;
  for (std::size_t i = 0; i < sum.places.size(); ++i)
    if (sum.places[i] >= 0) order.push_back(std::int64_t(i));
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return sum.places[std::size_t(a)] < sum.places[std::size_t(b)];
  });
  std::int64_t target_bytes = sum.block * std::int64_t(bytes_per_element(out.dtype()));
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    std::int64_t place = sum.places[std::size_t(order[begin])];
    while (end < order.size() && sum.places[std::size_t(order[end])] == place) ++end;
    auto count = std::int64_t(end - begin);
    Tensor terms = empty({count + 1, sum.block}, dtype);
    Tensor first = terms.narrow({.dim = 0, .start = 0, .length = 1});
    Tensor rest = terms.narrow({.dim = 0, .start = 1, .length = count});
    take_blocks(x, {place}, sum.block, first);
    take_blocks(source, Places(order.begin() + begin, order.begin() + end), sum.block, rest);
    compute(current_arithmetic(), SumRequest{.data = terms.data(),
                                             .dtype = dtype,
                                             .count = count + 1,
                                             .inner = sum.block,
                                             .result = out.mutable_data() + place * target_bytes,
                                             .result_dtype = out.dtype()});
  }
}

void add_blocks_unrounded(const BlockSum& sum, Tensor& out) {
  if (out.numel() == 0) return;
  CarriedSums source = scaled(unrounded(sum.source), sum.alpha);
  std::vector<CarriedSums> parts = {unrounded(sum.x)};
  DigitRange range =
      DigitRange::of_bits(32 * source.low(), 32 * (source.low() + source.digit_count()),
                          std::int64_t(sum.places.size()));
  DigitSums blocks(out.numel(), range);
  CarriedSums terms = over_one(source, source.divisor());
  for (std::size_t i = 0; i < sum.places.size(); ++i)
    if (sum.places[i] >= 0)
      blocks.add_sums(terms.slice({std::int64_t(i) * sum.block, sum.block}),
                      sum.places[i] * sum.block);
  parts.push_back(blocks.take(source.divisor()));
  write_unrounded(out, sum_of(parts));
}

}  // namespace

void add_blocks(const BlockSum& sum, Tensor& out) {
  if (keeps_unrounded() && is_floating_point(out.dtype())) return add_blocks_unrounded(sum, out);
  if (current_arithmetic().is_exact() && is_floating_point(out.dtype()))
    return add_blocks_exactly(sum, out);
  DType dtype = block_sum_dtype(out.dtype());
  Tensor total = converted(sum.x, dtype).clone();
  Tensor source = converted(sum.source, dtype).contiguous();
  auto add = [&]<class T>(T) {
    if (out.numel() > 0) add_values<T>(total.mutable_values<T>(), sum, source.values<T>());
  };
  if (dtype == DType::float64)
    add(double());
  else if (dtype == DType::float32)
    add(float());
  else
    add(std::int64_t());
  adopt_(out, converted(total, out.dtype()));
}

}  // namespace simmesh
