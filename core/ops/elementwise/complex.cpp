#include "core/ops/elementwise/complex.h"

#include <cmath>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

void check_pairs(const TensorType& z, const char* where) {
  if (z.shape.empty() || z.shape.back() != 2 || !is_floating_point(z.dtype))
    raise(ErrorKind::runtime_error, where,
          "expected a floating tensor whose last dim has size 2, got {}{}", to_string(z.dtype),
          to_string(DimSpan(z.shape)));
}

DType compute_dtype(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

TensorTypes product_type(Types inputs, const Attributes&) {
  for (const TensorType& input : inputs) check_pairs(input, "complex_mul");
  return {{broadcast_shapes(inputs), result_type(inputs)}};
}

template <class T>
void multiply_pairs(gsl::span<const T> a, gsl::span<const T> b, gsl::span<T> out) {
  for (std::size_t i = 0; i + 1 < out.size(); i += 2) {
    out[i] = a[i] * b[i] - a[i + 1] * b[i + 1];
    out[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
  }
}

const Op complex_mul_op = {
    .name = "complex_mul",
    .shape = product_type,
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          Tensor& out = outputs[0];
          DType dtype = compute_dtype(out.dtype());
          Tensor a = expand(converted(inputs[0], dtype), out.shape()).contiguous();
          Tensor b = expand(converted(inputs[1], dtype), out.shape()).contiguous();
          Tensor product = empty(out.shape(), dtype);
          if (dtype == DType::float64)
            multiply_pairs<double>(a.values<double>(), b.values<double>(),
                                   product.mutable_values<double>());
          else
            multiply_pairs<float>(a.values<float>(), b.values<float>(),
                                  product.mutable_values<float>());
          adopt_(out, converted(product, out.dtype()));
        },
};

const Op complex_conj_op = {
    .name = "complex_conj",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_pairs(inputs[0], "complex_conj");
      return {inputs[0]};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          Tensor& out = outputs[0];
          copy_(out, inputs[0]);
          visit_dtype(out.dtype(), [&]<class T>(T) {
            if constexpr (!std::is_integral_v<T>) {
              auto values = out.mutable_values<T>();
              for (std::size_t i = 1; i < values.size(); i += 2) values[i] = -values[i];
            }
          });
        },
};

// Takes the larger part out of the square root, so that no square overflows.
double magnitude(double real, double imaginary) {
  double large = std::fabs(real), small = std::fabs(imaginary);
  if (std::isinf(large) || std::isinf(small)) return HUGE_VAL;
  if (large < small) std::swap(large, small);
  if (large == 0 || large != large || small != small) return large + small;
  double ratio = small / large;
  return large * std::sqrt(1 + ratio * ratio);
}

const Op complex_abs_op = {
    .name = "complex_abs",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_pairs(inputs[0], "complex_abs");
      TensorType result = inputs[0];
      result.shape.pop_back();
      return {result};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          Tensor parts = converted(inputs[0], DType::float64).contiguous();
          Tensor result = empty(outputs[0].shape(), DType::float64);
          auto z = parts.values<double>();
          auto out = result.mutable_values<double>();
          for (std::size_t i = 0; i < out.size(); ++i) out[i] = magnitude(z[2 * i], z[2 * i + 1]);
          adopt_(outputs[0], converted(result, outputs[0].dtype()));
        },
};

}  // namespace

Tensor as_complex(const Tensor& x) {
  if (x.dim() == 0 || x.shape().back() % 2 != 0)
    raise(ErrorKind::runtime_error, "as_complex", "expected a last dim of even size, got {}",
          to_string(DimSpan(x.shape())));
  return unflatten(x, -1, {x.shape().back() / 2, 2});
}

Tensor as_real(const Tensor& z) {
  check_pairs(type_of(z), "as_real");
  return flatten(z, -2);
}

Tensor complex(const Tensor& real, const Tensor& imaginary) { return stack({real, imaginary}, -1); }

Tensor polar(const Tensor& magnitude, const Tensor& angle) {
  return complex(mul(magnitude, cos(angle)), mul(magnitude, sin(angle)));
}

Tensor complex_mul(const Tensor& a, const Tensor& b) { return call_one(complex_mul_op, {a, b}); }

Tensor complex_conj(const Tensor& z) { return call_one(complex_conj_op, {z}); }

Tensor complex_abs(const Tensor& z) { return call_one(complex_abs_op, {z}); }

Tensor apply_rotary(const Tensor& x, const Tensor& frequencies) {
  return as_real(complex_mul(as_complex(x), frequencies));
}

void complex_ops(OpList& ops) { ops.add({&complex_abs_op, &complex_conj_op, &complex_mul_op}); }

}  // namespace simmesh
