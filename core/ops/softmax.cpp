#include <simmesh/core/check/error.h>
#include <simmesh/core/ops/call.h>
#include <simmesh/core/ops/conversion.h>
#include <simmesh/core/ops/dim_list.h>
#include <simmesh/core/ops/gradient_call.h>
#include <simmesh/core/ops/pointwise.h>
#include <simmesh/core/ops/reductions.h>
#include <simmesh/core/ops/softmax.h>
#include <simmesh/core/tensor/convert.h>

namespace simmesh {

namespace {

std::int64_t dim_of(const Attributes& attributes) { return attributes.get<std::int64_t>("dim"); }

ShapeRule shape_rule(std::string name) {
  return [name](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
    wrapped_dim(dim_of(attributes), inputs[0].shape.size());
    if (!is_floating_point(inputs[0].dtype))
      raise(ErrorKind::not_implemented_error, name,
            "\"{}_lastdim_kernel_impl\" not implemented for '{}'", name,
            to_string(inputs[0].dtype));
    return {inputs[0]};
  };
}

// 16-bit dtypes are rounded once, at the end.
Tensor widened(const Tensor& x) {
  return converted(x, bytes_per_element(x.dtype()) == 2 ? DType::float32 : x.dtype());
}

// x less its maximum. Where all are -inf nothing is left but NaN, as in PyTorch.
Tensor shifted(const Tensor& x, std::int64_t dim) { return x - amax(x, dim, true); }

const Op softmax_op = {
    .name = "_softmax",
    .shape = shape_rule("softmax"),
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          if (inputs[0].element_count() == 0) return;
          std::int64_t dim = dim_of(attributes);
          Tensor powers = exp(shifted(widened(inputs[0]), dim));
          Tensor result = powers / sum(powers, dim, true);
          adopt_(outputs[0], converted(result, outputs[0].dtype()));
        },
    .gradient = [](const GradientCall& call) -> Gradients {
      const Tensor& y = call.output();
      Tensor weighted = call.gradient() * y;
      if (y.element_count() == 0) return {weighted};
      return {weighted - y * sum(weighted, dim_of(call.attributes()), true)};
    },
    .saves = {.outputs = 1},
};

const Op log_softmax_op = {
    .name = "_log_softmax",
    .shape = shape_rule("log_softmax"),
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          if (inputs[0].element_count() == 0) return;
          std::int64_t dim = dim_of(attributes);
          Tensor less = shifted(widened(inputs[0]), dim);
          Tensor result = less - log(sum(exp(less), dim, true));
          adopt_(outputs[0], converted(result, outputs[0].dtype()));
        },
    .gradient = [](const GradientCall& call) -> Gradients {
      const Tensor& y = call.output();
      Tensor g = call.gradient();
      if (y.element_count() == 0) return {g};
      return {g - exp(y) * sum(g, dim_of(call.attributes()), true)};
    },
    .saves = {.outputs = 1},
};

const Op* const ops[] = {&softmax_op, &log_softmax_op};

}  // namespace

Tensor softmax(const Tensor& x, std::int64_t dim, std::optional<DType> dtype) {
  return call_one(softmax_op, {dtype ? to(x, *dtype) : x}, {{"dim", dim}});
}
Tensor log_softmax(const Tensor& x, std::int64_t dim, std::optional<DType> dtype) {
  return call_one(log_softmax_op, {dtype ? to(x, *dtype) : x}, {{"dim", dim}});
}

gsl::span<const Op* const> softmax_ops() { return ops; }

}  // namespace simmesh
