#include "core/ops/shapes/factories.h"

#include <cmath>
#include <cstring>

#include "core/arithmetic/functions.h"
#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

// Returns an op that makes a tensor of one value, in the shape of its input or in a given size.
// Without a value it makes zeros.
Op filled_op(std::string name, std::optional<double> value) {
  auto shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
    return {
        {attributes.get_or(attribute::size, Dims(inputs[0].shape.begin(), inputs[0].shape.end())),
         attributes.get_or(attribute::dtype, inputs[0].dtype)}};
  };
  auto kernel = [value](gsl::span<const Tensor>, const Attributes& attributes,
                        gsl::span<Tensor> outputs) {
    Tensor& out = outputs[0];
    if (out.bytes() == 0) return;
    double filled = value ? *value : attributes.get(attribute::fill_value);
    if (filled == 0 && !std::signbit(filled))
      std::memset(out.mutable_data(), 0, out.bytes());
    else
      adopt_(out, full(out.shape(), out.dtype(), filled));
  };
  return {.name = std::move(name), .shape = shape, .kernel = kernel};
}

const Op empty_like_op = filled_op("empty_like", 0);
const Op zeros_like_op = filled_op("zeros_like", 0);
const Op ones_like_op = filled_op("ones_like", 1);
const Op full_like_op = filled_op("full_like", {});
const Op new_empty_op = filled_op("new_empty", 0);
const Op new_zeros_op = filled_op("new_zeros", 0);
const Op new_ones_op = filled_op("new_ones", 1);
const Op new_full_op = filled_op("new_full", {});

Attributes with_dtype(Attributes attributes, std::optional<DType> dtype) {
  if (dtype) attributes.set(attribute::dtype = *dtype);
  return attributes;
}

Tensor made_like(const Op& op, const Tensor& x, const Attributes& attributes) {
  return call_one(op, {x.detach()}, attributes);
}

Attributes of_size(DimSpan shape) { return {attribute::size = Dims(shape.begin(), shape.end())}; }

// An integer dtype drops the fraction of the value, as converted does.
template <class T>
T element_of(double value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return T(std::int64_t(value));
  else
    return rounded_to<T>(value);
}

// filled_by sets element i to f(i).
template <class F>
Tensor filled_by(std::int64_t count, DType dtype, F&& f) {
  Tensor result = empty({count}, dtype);
  if (!result.has_elements()) return result;
  visit_dtype(dtype, [&]<class T>(T) {
    std::int64_t i = 0;
    for (T& value : result.mutable_values<T>()) value = element_of<T>(f(i++));
  });
  return result;
}

void check_steps(std::string_view op, std::int64_t steps) {
  if (steps < 0) raise(ErrorKind::runtime_error, op, "number of steps must be non-negative");
}

// Computes the first half from the start, the second from the end.
double point_of(const Linspace& values, std::int64_t i) {
  double step = values.steps > 1 ? (values.end - values.start) / double(values.steps - 1) : 0;
  return i < values.steps / 2 || values.steps == 1
             ? values.start + step * double(i)
             : values.end - step * double(values.steps - 1 - i);
}

}  // namespace

Tensor ones(DimSpan shape, DType dtype) { return full(shape, dtype, 1); }

Tensor scalar_tensor(double value, DType dtype) { return full(Shape{}, dtype, value); }

// For a plain tensor only the shape counts: there is no op to run.
Tensor empty_like(const Tensor& x, std::optional<DType> dtype) {
  if (x.distribution()) return made_like(empty_like_op, x, with_dtype({}, dtype));
  return empty(x.shape(), dtype.value_or(x.dtype()));
}

Tensor zeros_like(const Tensor& x, std::optional<DType> dtype) {
  if (x.distribution()) return made_like(zeros_like_op, x, with_dtype({}, dtype));
  return zeros(x.shape(), dtype.value_or(x.dtype()));
}

Tensor ones_like(const Tensor& x, std::optional<DType> dtype) {
  if (x.distribution()) return made_like(ones_like_op, x, with_dtype({}, dtype));
  return full(x.shape(), dtype.value_or(x.dtype()), 1);
}

Tensor full_like(const Tensor& x, double value, std::optional<DType> dtype) {
  if (x.distribution())
    return made_like(full_like_op, x, with_dtype({attribute::fill_value = value}, dtype));
  return full(x.shape(), dtype.value_or(x.dtype()), value);
}

Tensor new_empty(const Tensor& x, DimSpan shape, std::optional<DType> dtype) {
  return made_like(new_empty_op, x, with_dtype(of_size(shape), dtype));
}

Tensor new_zeros(const Tensor& x, DimSpan shape, std::optional<DType> dtype) {
  return made_like(new_zeros_op, x, with_dtype(of_size(shape), dtype));
}

Tensor new_ones(const Tensor& x, DimSpan shape, std::optional<DType> dtype) {
  return made_like(new_ones_op, x, with_dtype(of_size(shape), dtype));
}

Tensor new_full(const Tensor& x, DimSpan shape, double value, std::optional<DType> dtype) {
  Attributes attributes = of_size(shape);
  attributes.set(attribute::fill_value = value);
  return made_like(new_full_op, x, with_dtype(std::move(attributes), dtype));
}

Tensor arange(const Range& range, DType dtype) {
  double count = std::ceil((range.end - range.start) / range.step);
  if (range.step == 0) raise(ErrorKind::runtime_error, "arange", "step must be nonzero");
  if (!std::isfinite(count))
    raise(ErrorKind::runtime_error, "arange", "unsupported range: {} -> {}", range.start,
          range.end);
  if (count < 0)
    raise(ErrorKind::runtime_error, "arange",
          "upper bound and larger bound inconsistent with step sign");
  return filled_by(std::int64_t(count), dtype,
                   [&](std::int64_t i) { return range.start + double(i) * range.step; });
}

Tensor arange(std::int64_t end, DType dtype) { return arange({.end = double(end)}, dtype); }

Tensor linspace(const Linspace& values, DType dtype) {
  check_steps("linspace", values.steps);
  return filled_by(values.steps, dtype, [&](std::int64_t i) { return point_of(values, i); });
}

Tensor logspace(const Logspace& values, DType dtype) {
  check_steps("logspace", values.steps);
  Linspace exponents{values.start, values.end, values.steps};
  return filled_by(values.steps, dtype,
                   [&](std::int64_t i) { return power(values.base, point_of(exponents, i)); });
}

Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns, DType dtype) {
  Tensor result = zeros({rows, columns.value_or(rows)}, dtype);
  if (!result.has_elements()) return result;
  std::int64_t ones = std::min(rows, result.size(1));
  visit_dtype(dtype, [&]<class T>(T) {
    auto values = result.mutable_values<T>();
    for (std::int64_t i = 0; i < ones; ++i) values[std::size_t(i * (result.size(1) + 1))] = T(1);
  });
  return result;
}

void factories_ops(OpList& ops) {
  ops.add({&empty_like_op, &full_like_op, &ones_like_op, &zeros_like_op, &new_empty_op,
           &new_full_op, &new_ones_op, &new_zeros_op});
}

}  // namespace simmesh
