#include "core/ops/shapes/factories.h"

#include <cmath>
#include <cstring>

#include "core/check/error.h"
#include "core/ops/call.h"

namespace simmesh {

namespace {

const Op new_zeros_op = {
    .name = "new_zeros",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      return {{attributes.get<Dims>("size"), inputs[0].dtype}};
    },
    .kernel =
        [](gsl::span<const Tensor>, const Attributes&, gsl::span<Tensor> outputs) {
          if (outputs[0].bytes() > 0) std::memset(outputs[0].mutable_data(), 0, outputs[0].bytes());
        },
};

void fill_with_value(gsl::span<const Tensor>, const Attributes& attributes,
                     gsl::span<Tensor> outputs) {
  Tensor& out = outputs[0];
  adopt_(out, full(out.shape(), out.dtype(), attributes.get<double>("value")));
}

const Op full_like_op = {
    .name = "full_like",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      return {{inputs[0].shape, attributes.get<DType>("dtype")}};
    },
    .kernel = fill_with_value,
};

const Op new_full_op = {
    .name = "new_full",
    .shape = [](gsl::span<const TensorType>, const Attributes& attributes) -> TensorTypes {
      return {{attributes.get<Dims>("size"), attributes.get<DType>("dtype")}};
    },
    .kernel = fill_with_value,
};

// A value whose fraction an integer dtype drops, as converted does.
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

}  // namespace

Tensor ones(DimSpan shape, DType dtype) { return full(shape, dtype, 1); }

Tensor scalar_tensor(double value, DType dtype) { return full(Shape{}, dtype, value); }

Tensor empty_like(const Tensor& x, std::optional<DType> dtype) {
  return empty(x.shape(), dtype.value_or(x.dtype()));
}

Tensor zeros_like(const Tensor& x, std::optional<DType> dtype) {
  if (x.distribution()) return full_like(x, 0, dtype);
  return zeros(x.shape(), dtype.value_or(x.dtype()));
}

Tensor ones_like(const Tensor& x, std::optional<DType> dtype) { return full_like(x, 1, dtype); }

Tensor full_like(const Tensor& x, double value, std::optional<DType> dtype) {
  DType wanted = dtype.value_or(x.dtype());
  if (!x.distribution()) return full(x.shape(), wanted, value);
  return call_one(full_like_op, {x.detach()}, {{"value", value}, {"dtype", wanted}});
}

Tensor new_full(const Tensor& x, DimSpan shape, double value, std::optional<DType> dtype) {
  return call_one(new_full_op, {x.detach()},
                  {{"size", Dims(shape.begin(), shape.end())},
                   {"value", value},
                   {"dtype", dtype.value_or(x.dtype())}});
}

Tensor new_zeros(const Tensor& x, DimSpan shape) {
  return call_one(new_zeros_op, {x.detach()}, {{"size", Dims(shape.begin(), shape.end())}});
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
  if (values.steps < 0)
    raise(ErrorKind::runtime_error, "linspace", "number of steps must be non-negative");
  double step = values.steps > 1 ? (values.end - values.start) / double(values.steps - 1) : 0;
  return filled_by(values.steps, dtype, [&](std::int64_t i) {
    return i < values.steps / 2 || values.steps == 1
               ? values.start + step * double(i)
               : values.end - step * double(values.steps - 1 - i);
  });
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

gsl::span<const Op* const> factory_ops() {
  static const Op* const ops[] = {&new_zeros_op, &full_like_op, &new_full_op};
  return ops;
}

}  // namespace simmesh
