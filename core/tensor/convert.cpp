#include <cmath>

#include <simmesh/core/tensor/convert.h>
#include <simmesh/core/tensor/launch.h>

namespace simmesh {

namespace {

// A floating value outside of int64 has no integer; it becomes the least one, as the CPU's own
// conversion says.
std::int64_t truncated(double x) {
  constexpr double limit = 9223372036854775808.0;
  return x >= -limit && x < limit ? std::int64_t(x) : INT64_MIN;
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_16_bit<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From>) {
    if constexpr (std::is_integral_v<To>)
      return To(truncated(double(x)));
    else
      return rounded_to<To>(double(x));
  } else if constexpr (is_16_bit<To>) {
    // 64 bits don't fit into a double: odd rounding keeps what the second rounding needs to see.
    std::int64_t k = std::int64_t(x), kept = k >> 12 << 12;
    bool fits = k > -(std::int64_t(1) << 52) && k < (std::int64_t(1) << 52);
    return rounded_to<To>(double(fits || kept == k ? k : kept | (1 << 12)));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace

Tensor converted(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor source = tensor.contiguous();
  Tensor result = empty(tensor.shape(), dtype);
  launch("to", source, result);
  if (!result.has_elements()) return result;
  visit_dtype(source.dtype(), [&]<class From>(From) {
    visit_dtype(dtype, [&]<class To>(To) {
      auto in = source.values<From>();
      auto out = result.mutable_values<To>();
      for (std::size_t i = 0; i < in.size(); ++i) out[i] = convert<To>(in[i]);
    });
  });
  return result;
}

}  // namespace simmesh
