#include "core/arithmetic/philox.h"

#include <type_traits>

#include "core/arithmetic/functions.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

PhiloxWords words_of(const PhiloxKey& key, std::uint64_t block) {
  return philox4x32_10({std::uint32_t(block), std::uint32_t(block >> 32), std::uint32_t(key.stream),
                        std::uint32_t(key.stream >> 32)},
                       {std::uint32_t(key.seed), std::uint32_t(key.seed >> 32)});
}

double uniform_of(std::uint32_t high, std::uint32_t low) {
  return double((std::uint64_t(high) << 32 | low) >> 11) * 0x1p-53;
}

// Elements 2 i and 2 i + 1 share one counter: the radius is from its first two words, the angle
// from the others.
double normal_of(const PhiloxWords& words, bool second) {
  constexpr double two_pi = 0x1.921fb54442d18p+2;
  double radius = apply_function(
      Function::sqrt, -2 * apply_function(Function::log, 1 - uniform_of(words[0], words[1])));
  double angle = two_pi * uniform_of(words[2], words[3]);
  return radius * apply_function(second ? Function::sin : Function::cos, angle);
}

double drawn(const PhiloxKey& key, std::uint64_t element, const RandomFill& fill) {
  if (fill.kind == RandomKind::normal) return fill.mean + fill.scale * philox_normal(key, element);
  return fill.low + (fill.high - fill.low) * philox_uniform_double(key, element);
}

}  // namespace

std::uint32_t philox_word(const PhiloxKey& key, std::uint64_t element) {
  return words_of(key, element / 4)[element % 4];
}

float philox_uniform(const PhiloxKey& key, std::uint64_t element) {
  return float(philox_word(key, element) >> 8) * 0x1p-24f;
}

double philox_uniform_double(const PhiloxKey& key, std::uint64_t element) {
  PhiloxWords words = words_of(key, element / 2);
  std::size_t first = element % 2 * 2;
  return uniform_of(words[first], words[first + 1]);
}

double philox_normal(const PhiloxKey& key, std::uint64_t element) {
  return normal_of(words_of(key, element / 2), element % 2 == 1);
}

void fill_random(Tensor& tensor, const PhiloxKey& key, const ShardOfTensor& shard,
                 const RandomFill& fill) {
  bool fits = shard.global_shape.size() == tensor.shape().size() &&
              shard.offset.size() == tensor.shape().size();
  for (std::size_t d = 0; fits && d < shard.offset.size(); ++d)
    fits = shard.offset[d] >= 0 && shard.offset[d] <= shard.global_shape[d] - tensor.shape()[d];
  if (!fits)
    raise(ErrorKind::value_error, "arithmetic/philox", "expected a box within {}, got {} at {}",
          to_string(shard.global_shape), to_string(tensor.shape()), to_string(shard.offset));
  if (tensor.numel() == 0) return;
  Strides strides = contiguous_strides(shard.global_shape);
  Tensor values = empty(tensor.shape(), tensor.dtype());
  visit_dtype(tensor.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      raise(ErrorKind::type_error, "arithmetic/philox", "expected a floating tensor, got {}",
            to_string(tensor.dtype()));
    } else {
      Dims index(tensor.shape().size(), 0);
      auto out = values.mutable_values<T>();
      std::size_t i = 0;
      do {
        std::int64_t element = 0;
        for (std::size_t d = 0; d < index.size(); ++d)
          element += (index[d] + shard.offset[d]) * strides[d];
        out[i++] = rounded_to<T>(drawn(key, std::uint64_t(element), fill));
      } while (next_index(index, tensor.shape()));
    }
  });
  copy_(tensor, values);
}

void fill_random(Tensor& tensor, const PhiloxKey& key, const RandomFill& fill) {
  ShardOfTensor whole{.global_shape = tensor.shape(), .offset = Dims(tensor.shape().size(), 0)};
  fill_random(tensor, key, whole, fill);
}

}  // namespace simmesh
