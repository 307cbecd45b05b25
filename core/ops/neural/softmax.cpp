#include "core/ops/neural/softmax.h"

#include <algorithm>
#include <vector>

#include "core/arithmetic/compute.h"
#include "core/arithmetic/functions.h"
#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/dim_list.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/op_list.h"
#include "core/ops/reductions/extremes.h"
#include "core/ops/reductions/sums.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

std::int64_t dim_of(const Attributes& attributes) { return attributes.get(attribute::dim); }

ShapeRule shape_rule(const std::string& name) {
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

// Returns x less its maximum. Where all are -inf the result is NaN, as in PyTorch.
Tensor shifted(const Tensor& x, std::int64_t dim) { return x - amax(x, dim, true); }

// Returns the maximum of a row, NaN where it has one. Several maxima run at once, since each
// compare waits for the one before it.
template <class T>
T row_maximum(const T* row, std::int64_t count) {
  constexpr std::int64_t strip = 8;
  auto larger = [](T most, T x) { return x > most || x != x ? x : most; };
  T most[strip];
  std::fill(most, most + strip, row[0]);
  std::int64_t i = 0;
  for (; i + strip <= count; i += strip)
    for (std::int64_t l = 0; l < strip; ++l) most[l] = larger(most[l], row[i + l]);
  for (; i < count; ++i) most[0] = larger(most[0], row[i]);
  for (std::int64_t l = 1; l < strip; ++l) most[0] = larger(most[0], most[l]);
  return most[0];
}

// Rows computes softmax or its logarithm over the last dim of contiguous data, some rows at a time
// that stay in the cache, in the same operations as over any other dim.
template <class T>
class Rows {
 public:
  explicit Rows(std::int64_t count)
      : count_(count),
        rows_(std::max(rows_min, elements_at_once / count)),
        less_(std::size_t(rows_ * count)),
        powers_(less_.size()),
        sums_(std::size_t(rows_)) {}

  void run(const T* x, T* out, std::int64_t rows, bool is_log) {
    for (std::int64_t begin = 0; begin < rows; begin += rows_) {
      std::int64_t left = std::min(rows_, rows - begin);
      add_powers(x + begin * count_, left);
      if (is_log) apply(Function::log, sums_.data(), sums_.data(), left);
      const T* from = is_log ? less_.data() : powers_.data();
      T* to = out + begin * count_;
      for (std::int64_t r = 0; r < left; ++r, from += count_, to += count_) {
        T sum = sums_[std::size_t(r)];
        if (is_log)
          for (std::int64_t i = 0; i < count_; ++i) to[i] = from[i] - sum;
        else
          for (std::int64_t i = 0; i < count_; ++i) to[i] = from[i] / sum;
      }
    }
  }

 private:
  // The number of chains that sums run at once, and the elements that fit into the second cache.
  static constexpr std::int64_t rows_min = 8, elements_at_once = 8192;

  void apply(Function function, const T* x, T* result, std::int64_t count) {
    apply_function({.function = function,
                    .dtype = dtype_of<T>,
                    .operand = reinterpret_cast<const std::byte*>(x),
                    .result = reinterpret_cast<std::byte*>(result),
                    .count = count});
  }

  void add_powers(const T* x, std::int64_t rows) {
    T* less = less_.data();
    for (std::int64_t r = 0; r < rows; ++r, x += count_, less += count_) {
      T most = row_maximum(x, count_);
      for (std::int64_t i = 0; i < count_; ++i) less[i] = x[i] - most;
    }
    apply(Function::exp, less_.data(), powers_.data(), rows * count_);
    compute(current_arithmetic(),
            SumRequest{.data = reinterpret_cast<const std::byte*>(powers_.data()),
                       .dtype = dtype_of<T>,
                       .outer = rows,
                       .count = count_,
                       .result = reinterpret_cast<std::byte*>(sums_.data()),
                       .result_dtype = dtype_of<T>});
  }

  std::int64_t count_, rows_;
  std::vector<T> less_, powers_, sums_;
};

// True if Rows computed the result.
bool computed_by_rows(const Tensor& x, std::int64_t dim, bool is_log, Tensor& out) {
  if (wrapped_dim(dim, x.shape().size()) + 1 < std::int64_t(x.shape().size())) return false;
  Tensor in = widened(x).contiguous();
  Tensor result = in.dtype() == out.dtype() ? out : empty(in.shape(), in.dtype());
  std::int64_t count = in.shape().empty() ? 1 : in.shape().back();
  auto run = [&]<class T>(T) {
    Rows<T>(count).run(in.values<T>().data(), result.mutable_values<T>().data(), in.numel() / count,
                       is_log);
  };
  in.dtype() == DType::float64 ? run(double()) : run(float());
  if (in.dtype() != out.dtype()) adopt_(out, converted(result, out.dtype()));
  return true;
}

const Op softmax_op = {
    .name = "_softmax",
    .shape = shape_rule("softmax"),
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          if (inputs[0].numel() == 0) return;
          std::int64_t dim = dim_of(attributes);
          if (computed_by_rows(inputs[0], dim, false, outputs[0])) return;
          Tensor powers = exp(shifted(widened(inputs[0]), dim));
          Tensor result = powers / sum(powers, dim, true);
          adopt_(outputs[0], converted(result, outputs[0].dtype()));
        },
};

const Op log_softmax_op = {
    .name = "_log_softmax",
    .shape = shape_rule("log_softmax"),
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          if (inputs[0].numel() == 0) return;
          std::int64_t dim = dim_of(attributes);
          if (computed_by_rows(inputs[0], dim, true, outputs[0])) return;
          Tensor less = shifted(widened(inputs[0]), dim);
          Tensor result = less - log(sum(exp(less), dim, true));
          adopt_(outputs[0], converted(result, outputs[0].dtype()));
        },
};

}  // namespace

Tensor softmax(const Tensor& x, std::int64_t dim, std::optional<DType> dtype) {
  return call_one(softmax_op, {dtype ? to(x, *dtype) : x}, {attribute::dim = dim});
}
Tensor log_softmax(const Tensor& x, std::int64_t dim, std::optional<DType> dtype) {
  return call_one(log_softmax_op, {dtype ? to(x, *dtype) : x}, {attribute::dim = dim});
}

void softmax_ops(OpList& ops) { ops.add({&softmax_op, &log_softmax_op}); }

}  // namespace simmesh
