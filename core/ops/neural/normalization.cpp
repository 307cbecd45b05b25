#include "core/ops/neural/normalization.h"

#include <algorithm>
#include <limits>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/kernels/normalized_groups.h"
#include "core/ops/op_list.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

void check_last_dims(std::string_view op, gsl::span<const TensorType> inputs,
                     const Dims& normalized) {
  const Shape& shape = inputs[0].shape;
  if (normalized.empty())
    raise(ErrorKind::runtime_error, op,
          "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
          "element, but got normalized_shape = []");
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i].is_defined && inputs[i].shape != normalized)
      raise(ErrorKind::runtime_error, op,
            "Expected {} to be of same shape as normalized_shape, but got {} of shape {} and "
            "normalized_shape = {}",
            i == 1 ? "weight" : "bias", i == 1 ? "weight" : "bias",
            to_string(DimSpan(inputs[i].shape)), to_string(DimSpan(normalized)));
  if (shape.size() < normalized.size() ||
      !std::equal(normalized.rbegin(), normalized.rend(), shape.rbegin()))
    raise(ErrorKind::runtime_error, op,
          "Given normalized_shape={}, expected input with shape [*, {}], but got input of size{}",
          to_string(DimSpan(normalized)), join_text(normalized, ", "), to_string(DimSpan(shape)));
  if (!is_floating_point(inputs[0].dtype))
    raise(ErrorKind::not_implemented_error, op, "not implemented for '{}'",
          to_string(inputs[0].dtype));
}

// Parameters have the dtype of x, or all of them float32 beside 16-bit x.
void check_parameter_dtypes(std::string_view op, gsl::span<const TensorType> inputs) {
  DType dtype = inputs[0].dtype;
  bool is_narrow = statistics_dtype(dtype) != dtype, is_mixed = false, are_wide = is_narrow;
  for (const TensorType& parameter : inputs.subspan(1)) {
    if (!parameter.is_defined) continue;
    is_mixed |= parameter.dtype != dtype;
    are_wide &= parameter.dtype == DType::float32;
  }
  if (!is_mixed || are_wide) return;
  auto name_of = [&](std::size_t i) {
    return i < inputs.size() && inputs[i].is_defined ? to_string(inputs[i].dtype) : "no";
  };
  raise(ErrorKind::runtime_error, op,
        "mixed dtype: expected parameters of {}{}, got {} weight and {} bias", to_string(dtype),
        is_narrow ? " or of float32" : "", name_of(1), name_of(2));
}

const Op layer_norm_op = {
    .name = "native_layer_norm",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      check_last_dims("layer_norm", inputs, attributes.get(attribute::normalized_shape));
      check_parameter_dtypes("layer_norm", inputs);
      TensorType statistics{layer_norm_groups(inputs[0].shape, attributes).statistics,
                            statistics_dtype(inputs[0].dtype)};
      return {inputs[0], statistics, statistics};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          NormalizedGroups groups = layer_norm_groups(inputs[0].shape(), attributes);
          GroupMoments moments =
              group_moments(inputs[0], groups, {true, attributes.get(attribute::eps)});
          copy_(outputs[1], converted(moments.mean, outputs[1].dtype()));
          copy_(outputs[2], converted(moments.rstd, outputs[2].dtype()));
          normalize_groups(inputs[0], groups, moments,
                           {optional_input(inputs, 1), optional_input(inputs, 2)}, outputs[0]);
        },
};

const Op rms_norm_op = {
    .name = "_fused_rms_norm",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      check_last_dims("rms_norm", inputs, attributes.get(attribute::normalized_shape));
      return {inputs[0],
              {layer_norm_groups(inputs[0].shape, attributes).statistics,
               statistics_dtype(inputs[0].dtype)}};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          NormalizedGroups groups = layer_norm_groups(inputs[0].shape(), attributes);
          GroupMoments moments =
              group_moments(inputs[0], groups, {false, attributes.get(attribute::eps)});
          copy_(outputs[1], converted(moments.rstd, outputs[1].dtype()));
          normalize_groups(inputs[0], groups, moments, {optional_input(inputs, 1), {}}, outputs[0]);
        },
};

TensorTypes group_norm_types(gsl::span<const TensorType> inputs, const Attributes& attributes) {
  const Shape& shape = inputs[0].shape;
  auto groups = attributes.get(attribute::groups);
  if (shape.size() < 2)
    raise(ErrorKind::runtime_error, "group_norm",
          "Expected at least 2 dimensions for input tensor but received {}", shape.size());
  if (groups <= 0 || shape[1] % groups != 0)
    raise(ErrorKind::runtime_error, "group_norm",
          "Expected number of channels in input to be divisible by num_groups, but got input of "
          "shape {} and num_groups={}",
          to_string(DimSpan(shape)), groups);
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i].is_defined && inputs[i].shape != Shape{shape[1]})
      raise(ErrorKind::runtime_error, "group_norm",
            "Expected {} to be a vector of size equal to the number of channels in input, but got "
            "{} of shape {} and input of shape {}",
            i == 1 ? "weight" : "bias", i == 1 ? "weight" : "bias",
            to_string(DimSpan(inputs[i].shape)), to_string(DimSpan(shape)));
  check_parameter_dtypes("group_norm", inputs);
  TensorType statistics{{shape[0], groups}, statistics_dtype(inputs[0].dtype)};
  return {inputs[0], statistics, statistics};
}

const Op group_norm_op = {
    .name = "native_group_norm",
    .shape = group_norm_types,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          NormalizedGroups groups = group_norm_groups(inputs[0].shape(), attributes);
          GroupMoments moments =
              group_moments(inputs[0], groups, {true, attributes.get(attribute::eps)});
          const Shape& statistics = outputs[1].shape();
          copy_(outputs[1], converted(moments.mean, outputs[1].dtype()).view(statistics));
          copy_(outputs[2], converted(moments.rstd, outputs[2].dtype()).view(statistics));
          normalize_groups(inputs[0], groups, moments,
                           {optional_input(inputs, 1), optional_input(inputs, 2)}, outputs[0]);
        },
};

double spacing_at_one(DType dtype) {
  switch (dtype) {
    case DType::float64: return std::numeric_limits<double>::epsilon();
    case DType::bfloat16: return 0x1p-7;
    case DType::float16: return 0x1p-10;
    default: return double(std::numeric_limits<float>::epsilon());
  }
}

}  // namespace

Tensor layer_norm(const Tensor& x, DimSpan normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  Dims normalized(normalized_shape.begin(), normalized_shape.end());
  return call(layer_norm_op, {x, weight, bias},
              {attribute::normalized_shape = normalized, attribute::eps = eps})[0];
}

Tensor rms_norm(const Tensor& x, DimSpan normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  Dims normalized(normalized_shape.begin(), normalized_shape.end());
  return call(rms_norm_op, {x, weight},
              {attribute::normalized_shape = normalized,
               attribute::eps = eps.value_or(spacing_at_one(x.dtype()))})[0];
}

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  return call(group_norm_op, {x, weight, bias},
              {attribute::groups = groups, attribute::eps = eps})[0];
}

void normalization_ops(OpList& ops) { ops.add({&layer_norm_op, &rms_norm_op, &group_norm_op}); }

}  // namespace simmesh
