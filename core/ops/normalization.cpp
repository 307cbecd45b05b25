#include <cmath>
#include <limits>

#include <simmesh/core/arithmetic/functions.h>
#include <simmesh/core/check/error.h>
#include <simmesh/core/ops/call.h>
#include <simmesh/core/ops/compute_mode.h>
#include <simmesh/core/ops/conversion.h>
#include <simmesh/core/ops/folded.h>
#include <simmesh/core/ops/normalization.h>
#include <simmesh/core/ops/pointwise.h>
#include <simmesh/core/ops/pointwise_op.h>
#include <simmesh/core/ops/reductions.h>
#include <simmesh/core/ops/views.h>
#include <simmesh/core/tensor/convert.h>

namespace simmesh {

namespace {

// Statistics of 16-bit dtypes are float32.
DType statistics_dtype(DType dtype) {
  return dtype == DType::float64 ? DType::float64 : DType::float32;
}

// What is normalized: groups of count elements each, and how weight and bias broadcast over
// x's elements.
struct Groups {
  Shape elements;    // the shape under which x is normalized
  Shape statistics;  // that shape with size 1 along what is normalized
  Shape parameters;  // how weight and bias broadcast to elements
};

// The last dims.
Groups last_dims(const Shape& shape, const Dims& normalized) {
  Groups groups{shape, shape, normalized};
  for (std::size_t i = shape.size() - normalized.size(); i < shape.size(); ++i)
    groups.statistics[i] = 1;
  return groups;
}

// Groups of channels: [N, G, C / G, elements of a channel].
Groups channel_groups(const Shape& shape, std::int64_t groups) {
  std::int64_t channels = shape[1] / groups;
  std::int64_t rest = element_count(DimSpan(shape).subspan(2));
  return {{shape[0], groups, channels, rest}, {shape[0], groups, 1, 1}, {groups, channels, 1}};
}

// The statistics of each group, in double: [statistics].
struct Moments {
  Tensor mean;  // zeros where the mean isn't subtracted
  Tensor rstd;
};
struct MomentOptions {
  bool subtracts_mean;
  double eps;
};
Moments moments_of(const Tensor& x, const Groups& groups, const MomentOptions& options) {
  Moments moments{zeros(groups.statistics, DType::float64),
                  zeros(groups.statistics, DType::float64)};
  auto means = moments.mean.mutable_values<double>(), rstd = moments.rstd.mutable_values<double>();
  Folded terms;
  terms.data = x.contiguous();
  terms.outer = moments.mean.element_count();
  terms.count = terms.outer == 0 ? 0 : x.element_count() / terms.outer;
  if (terms.outer == 0 || terms.count == 0) return moments;
  auto count = double(terms.count);
  if (options.subtracts_mean) {
    SumRequest request = terms.request(SumTerm::identity);
    request.totals = means;
    current_arithmetic().sum(request);
    for (double& mean : means) mean /= count;
  }
  SumRequest request =
      terms.request(options.subtracts_mean ? SumTerm::squared_deviation : SumTerm::square);
  if (options.subtracts_mean) request.means = means;
  request.totals = rstd;
  current_arithmetic().sum(request);
  for (double& total : rstd) total = 1 / std::sqrt(total / count + options.eps);
  return moments;
}

// out = (x - mean) * rstd * weight + bias, in double, rounded once.
struct Affine {
  Tensor weight;
  Tensor bias;
};
void normalize(const Tensor& x, const Groups& groups, const Moments& moments, const Affine& affine,
               Tensor& out) {
  auto parameter = [&](const Tensor& given, int absent) -> PointwiseOperand {
    if (!given.is_defined()) return {Tensor(), absent};
    return {given.contiguous().view(groups.parameters)};
  };
  PointwiseOperand operands[] = {{x.contiguous().view(groups.elements)},
                                 {moments.mean},
                                 {moments.rstd},
                                 parameter(affine.weight, 1),
                                 parameter(affine.bias, 0)};
  ChunkLoop loop = [](const Chunk& chunk) {
    const double *value = chunk.operand<double>(0), *mean = chunk.operand<double>(1);
    const double *rstd = chunk.operand<double>(2), *weight = chunk.operand<double>(3);
    const double* bias = chunk.operand<double>(4);
    double* result = chunk.results<double>();
    for (std::size_t i = 0; i < chunk.count; ++i)
      result[i] = (value[i] - mean[i]) * rstd[i] * weight[i] + bias[i];
  };
  Tensor view = out.view(groups.elements);
  compute_pointwise({.operands = operands, .type = ComputeType::float64, .loop = loop}, view);
}

Tensor optional_input(gsl::span<const Tensor> inputs, std::size_t i) {
  return i < inputs.size() ? inputs[i] : Tensor();
}
Tensor optional_input(const GradientCall& call, std::size_t i) {
  return has_input(call, i) ? call.input(i) : Tensor();
}

// What gradients of a normalization are made of, in the dtype of the statistics.
struct Backward {
  Tensor g;           // of the normalized elements before weight and bias: [elements]
  Tensor raw;         // of the result: [elements]
  Tensor normalized;  // (x - mean) * rstd: [elements]
  Tensor centered;    // x - mean
  Tensor rstd;        // [statistics]
  Dims dims;          // what is normalized
  double count;
};

Backward backward_of(const GradientCall& call, const Groups& groups, bool subtracts_mean) {
  Backward b;
  std::size_t rstd_index = subtracts_mean ? 2 : 1;
  b.rstd = reshape(call.output(rstd_index), groups.statistics);
  DType dtype = b.rstd.dtype();
  b.centered = reshape(to(call.input(0), dtype), groups.elements);
  if (subtracts_mean) b.centered = b.centered - reshape(call.output(1), groups.statistics);
  b.normalized = b.centered * b.rstd;
  b.raw = reshape(to(call.gradient(0), dtype), groups.elements);
  Tensor weight = optional_input(call, 1);
  b.g = weight.is_defined() ? b.raw * reshape(to(weight, dtype), groups.parameters) : b.raw;
  b.count = 1;
  for (std::size_t i = 0; i < groups.elements.size(); ++i)
    if (groups.statistics[i] != groups.elements[i]) {
      b.dims.push_back(std::int64_t(i));
      b.count *= double(groups.elements[i]);
    }
  return b;
}

Tensor averaged(const Backward& b, const Tensor& x) {
  return b.dims.empty() ? x : sum(x, b.dims, true) / b.count;
}

// The gradient of x, from that of the result and, in second derivatives, those of the statistics.
Tensor input_gradient(const GradientCall& call, const Groups& groups, const Backward& b,
                      bool subtracts_mean) {
  Tensor inner = b.g - b.normalized * averaged(b, b.g * b.normalized);
  if (subtracts_mean) inner = inner - averaged(b, b.g);
  Tensor result = inner * b.rstd;
  std::size_t rstd_index = subtracts_mean ? 2 : 1;
  if (subtracts_mean && call.has_gradient(1))
    result = result + reshape(call.gradient(1), groups.statistics) / b.count;
  if (call.has_gradient(rstd_index)) {
    Tensor g = reshape(call.gradient(rstd_index), groups.statistics);
    result = result - b.centered * (g * b.rstd * b.rstd * b.rstd / b.count);
  }
  return to(reshape(result, call.input_type(0).shape), call.input_type(0).dtype);
}

Groups layer_groups(const Shape& shape, const Attributes& attributes) {
  return last_dims(shape, attributes.get<Dims>("normalized_shape"));
}

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
          to_string(DimSpan(normalized)), fmt::join(normalized, ", "), to_string(DimSpan(shape)));
  if (!is_floating_point(inputs[0].dtype))
    raise(ErrorKind::not_implemented_error, op, "not implemented for '{}'",
          to_string(inputs[0].dtype));
}

const Op layer_norm_op = {
    .name = "native_layer_norm",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      check_last_dims("layer_norm", inputs, attributes.get<Dims>("normalized_shape"));
      TensorType statistics{layer_groups(inputs[0].shape, attributes).statistics,
                            statistics_dtype(inputs[0].dtype)};
      return {inputs[0], statistics, statistics};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Groups groups = layer_groups(inputs[0].shape(), attributes);
          Moments moments = moments_of(inputs[0], groups, {true, attributes.get<double>("eps")});
          copy_(outputs[1], converted(moments.mean, outputs[1].dtype()));
          copy_(outputs[2], converted(moments.rstd, outputs[2].dtype()));
          normalize(inputs[0], groups, moments,
                    {optional_input(inputs, 1), optional_input(inputs, 2)}, outputs[0]);
        },
    .gradient =
        [](const GradientCall& call) {
          Gradients result(call.input_count());
          Groups groups = layer_groups(call.input_type(0).shape, call.attributes());
          Backward b = backward_of(call, groups, true);
          if (call.needs(0)) result[0] = input_gradient(call, groups, b, true);
          if (call.needs(1)) result[1] = summed_to_input(call, 1, b.raw * b.normalized);
          if (call.needs(2)) result[2] = summed_to_input(call, 2, b.raw);
          return result;
        },
    .saves = {.inputs = 0b011, .outputs = 0b110},
};

const Op rms_norm_op = {
    .name = "_fused_rms_norm",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      check_last_dims("rms_norm", inputs, attributes.get<Dims>("normalized_shape"));
      return {inputs[0],
              {layer_groups(inputs[0].shape, attributes).statistics,
               statistics_dtype(inputs[0].dtype)}};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Groups groups = layer_groups(inputs[0].shape(), attributes);
          Moments moments = moments_of(inputs[0], groups, {false, attributes.get<double>("eps")});
          copy_(outputs[1], converted(moments.rstd, outputs[1].dtype()));
          normalize(inputs[0], groups, moments, {optional_input(inputs, 1), {}}, outputs[0]);
        },
    .gradient =
        [](const GradientCall& call) {
          Gradients result(call.input_count());
          Groups groups = layer_groups(call.input_type(0).shape, call.attributes());
          Backward b = backward_of(call, groups, false);
          if (call.needs(0)) result[0] = input_gradient(call, groups, b, false);
          if (call.needs(1)) result[1] = summed_to_input(call, 1, b.raw * b.normalized);
          return result;
        },
    .saves = {.inputs = 0b11, .outputs = 0b10},
};

Groups group_groups(const Shape& shape, const Attributes& attributes) {
  return channel_groups(shape, attributes.get<std::int64_t>("groups"));
}

TensorTypes group_norm_types(gsl::span<const TensorType> inputs, const Attributes& attributes) {
  const Shape& shape = inputs[0].shape;
  auto groups = attributes.get<std::int64_t>("groups");
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
  TensorType statistics{{shape[0], groups}, statistics_dtype(inputs[0].dtype)};
  return {inputs[0], statistics, statistics};
}

// The channels of [N, G, C / G, rest], last, so that all before them is summed.
Gradient channel_sum(const GradientCall& call, std::size_t i, const Tensor& x) {
  const Shape& shape = call.input_type(0).shape;
  Tensor channels = reshape(x, {shape[0], shape[1], -1});
  return summed_to_input(call, i, transpose(channels, 1, 2));
}

const Op group_norm_op = {
    .name = "native_group_norm",
    .shape = group_norm_types,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Groups groups = group_groups(inputs[0].shape(), attributes);
          Moments moments = moments_of(inputs[0], groups, {true, attributes.get<double>("eps")});
          const Shape& statistics = outputs[1].shape();
          copy_(outputs[1], converted(moments.mean, outputs[1].dtype()).view(statistics));
          copy_(outputs[2], converted(moments.rstd, outputs[2].dtype()).view(statistics));
          normalize(inputs[0], groups, moments,
                    {optional_input(inputs, 1), optional_input(inputs, 2)}, outputs[0]);
        },
    .gradient =
        [](const GradientCall& call) {
          Gradients result(call.input_count());
          Groups groups = group_groups(call.input_type(0).shape, call.attributes());
          Backward b = backward_of(call, groups, true);
          if (call.needs(0)) result[0] = input_gradient(call, groups, b, true);
          if (call.needs(1)) result[1] = channel_sum(call, 1, b.raw * b.normalized);
          if (call.needs(2)) result[2] = channel_sum(call, 2, b.raw);
          return result;
        },
    .saves = {.inputs = 0b011, .outputs = 0b110},
};

const Op* const normalization_list[] = {&layer_norm_op, &rms_norm_op, &group_norm_op};

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
              {{"normalized_shape", normalized}, {"eps", eps}})[0];
}

Tensor rms_norm(const Tensor& x, DimSpan normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  Dims normalized(normalized_shape.begin(), normalized_shape.end());
  return call(
      rms_norm_op, {x, weight},
      {{"normalized_shape", normalized}, {"eps", eps.value_or(spacing_at_one(x.dtype()))}})[0];
}

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  return call(group_norm_op, {x, weight, bias}, {{"groups", groups}, {"eps", eps}})[0];
}

gsl::span<const Op* const> normalization_ops() { return normalization_list; }

}  // namespace simmesh
