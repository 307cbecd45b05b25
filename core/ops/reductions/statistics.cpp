#include "core/ops/reductions/statistics.h"

#include <cmath>
#include <limits>

#include "core/arithmetic/compute.h"
#include "core/arithmetic/functions.h"
#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/kernels/folded.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/reductions/extremes.h"
#include "core/ops/reductions/sums.h"

namespace simmesh {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::vector<double> totals_of(const Folded& x, SumTerm term, gsl::span<const double> means = {}) {
  std::vector<double> totals(std::size_t(x.results()));
  SumRequest request = x.request(term);
  request.means = means;
  request.totals = totals;
  if (!totals.empty()) compute(current_arithmetic(), request);
  return totals;
}

// Rounds results once to the dtype of out.
void round_into(gsl::span<const double> results, Tensor& out) {
  Tensor wide = empty(out.shape(), DType::float64);
  std::copy(results.begin(), results.end(), wide.mutable_values<double>().begin());
  copy_(out, converted(wide, out.dtype()));
}

DType checked_floating(std::string_view op, DType dtype) {
  if (!is_floating_point(dtype))
    raise(ErrorKind::runtime_error, op, "{} only support floating point and complex dtypes", op);
  return dtype;
}

double divisor_of(const Folded& x, const Attributes& attributes) {
  return std::fmax(0.0, double(x.count) - attributes.get(attribute::correction));
}

// variance[i] and mean[i], not rounded to the dtype.
struct SliceMoments {
  std::vector<double> means;
  std::vector<double> variances;
};
SliceMoments moments_of(const Tensor& x, const Attributes& attributes) {
  Folded terms = folded(x, reduced_dims(attributes, x.shape().size()));
  SliceMoments moments{totals_of(terms, SumTerm::identity), {}};
  for (double& mean : moments.means) mean /= double(terms.count);
  moments.variances = totals_of(terms, SumTerm::squared_deviation, moments.means);
  for (double& variance : moments.variances) variance /= divisor_of(terms, attributes);
  return moments;
}

TensorTypes moment_type(std::string_view op, gsl::span<const TensorType> inputs,
                        const Attributes& attributes) {
  return {reduced_type(inputs[0], attributes, checked_floating(op, inputs[0].dtype))};
}

const Op var_op = {
    .name = "var",
    .shape = [](gsl::span<const TensorType> inputs,
                const Attributes& attributes) { return moment_type("var", inputs, attributes); },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          round_into(moments_of(inputs[0], attributes).variances, outputs[0]);
        },
};

const Op std_op = {
    .name = "std",
    .shape = [](gsl::span<const TensorType> inputs,
                const Attributes& attributes) { return moment_type("std", inputs, attributes); },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          std::vector<double> variances = moments_of(inputs[0], attributes).variances;
          for (double& variance : variances) variance = std::sqrt(variance);
          round_into(variances, outputs[0]);
        },
};

const Op var_mean_op = {
    .name = "var_mean",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      TensorType type = moment_type("var_mean", inputs, attributes)[0];
      return {type, type};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          SliceMoments moments = moments_of(inputs[0], attributes);
          round_into(moments.variances, outputs[0]);
          round_into(moments.means, outputs[1]);
        },
};

const Op logsumexp_op = {
    .name = "logsumexp",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      DType dtype = inputs[0].dtype;
      return {
          reduced_type(inputs[0], attributes, is_floating_point(dtype) ? dtype : DType::float32)};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Tensor x = converted(inputs[0], outputs[0].dtype());
          Dims dims = reduced_dims(attributes, x.shape().size());
          if (x.numel() == 0)
            return copy_(outputs[0], full(outputs[0].shape(), outputs[0].dtype(), -infinite));
          if (dims.empty()) return copy_(outputs[0], x);
          Tensor most = amax(x, dims, true);
          most = masked_fill(most, isinf(most), 0);
          Tensor result = log(sum(exp(x - most), dims, true)) + most;
          copy_(outputs[0], result.view(outputs[0].shape()));
        },
};

void norm_kernel(gsl::span<const Tensor> inputs, const Attributes& attributes,
                 gsl::span<Tensor> outputs) {
  const Tensor& x = inputs[0];
  Tensor& out = outputs[0];
  double p = attributes.get(attribute::ord);
  Dims dims = reduced_dims(attributes, x.shape().size());
  DimList list(dims);
  if (dims.empty()) {
    copy_(out, p == 0 ? converted(ne(x, 0), out.dtype()) : abs(x));
  } else if (std::isinf(p)) {
    bool is_empty = x.numel() == 0 && p > 0;
    Tensor size = is_empty ? zeros(out.shape(), out.dtype())
                           : (p > 0 ? amax(abs(x), list) : amin(abs(x), list)).view(out.shape());
    copy_(out, size);
  } else if (p == 0) {
    copy_(out, converted(count_nonzero(x, list), out.dtype()).view(out.shape()));
  } else if (p == 1 || p == 2) {
    std::vector<double> totals =
        totals_of(folded(x, dims), p == 1 ? SumTerm::absolute : SumTerm::square);
    if (p == 2)
      for (double& total : totals) total = std::sqrt(total);
    round_into(totals, out);
  } else {
    std::vector<double> totals = totals_of(folded(pow(abs(x), p), dims), SumTerm::identity);
    for (double& total : totals) total = power(total, 1 / p);
    round_into(totals, out);
  }
}

const Op vector_norm_op = {
    .name = "linalg_vector_norm",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      if (!is_floating_point(inputs[0].dtype))
        raise(ErrorKind::runtime_error, "linalg_vector_norm",
              "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
              to_string(inputs[0].dtype));
      return {reduced_type(inputs[0], attributes, inputs[0].dtype)};
    },
    .kernel = norm_kernel,
};

const Op dist_op = {
    .name = "dist",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
      DType dtype = result_type(inputs);
      if (!is_floating_point(dtype))
        raise(ErrorKind::runtime_error, "dist", "dist only supports floating point, got {}",
              to_string(dtype));
      broadcast_shapes(inputs);
      return {{{}, dtype}};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Tensor difference = inputs[0] - inputs[1];
          norm_kernel(gsl::span<const Tensor>(&difference, 1), attributes, outputs);
        },
};

Attributes moment_attributes(const DimList& dims, const Spread& spread) {
  Attributes attributes = reduction_attributes(dims, spread.keepdim);
  attributes.set(attribute::correction = spread.correction);
  return attributes;
}

}  // namespace

Tensor var(const Tensor& x, const DimList& dims, const Spread& spread) {
  return call_one(var_op, {x}, moment_attributes(dims, spread));
}
Tensor std(const Tensor& x, const DimList& dims, const Spread& spread) {
  return call_one(std_op, {x}, moment_attributes(dims, spread));
}
VarianceAndMean var_mean(const Tensor& x, const DimList& dims, const Spread& spread) {
  std::vector<Tensor> outputs = call(var_mean_op, {x}, moment_attributes(dims, spread));
  return {outputs[0], outputs[1]};
}
Tensor logsumexp(const Tensor& x, const DimList& dims, bool keepdim) {
  return call_one(logsumexp_op, {x}, reduction_attributes(dims, keepdim));
}
Tensor vector_norm(const Tensor& x, double p, const DimList& dims, bool keepdim) {
  Attributes attributes = reduction_attributes(dims, keepdim);
  attributes.set(attribute::ord = p);
  return call_one(vector_norm_op, {x}, attributes);
}
Tensor norm(const Tensor& x, double p, const DimList& dims, bool keepdim) {
  return vector_norm(x, p, dims, keepdim);
}
Tensor dist(const Tensor& a, const Tensor& b, double p) {
  return call_one(dist_op, {a, b}, {attribute::ord = p});
}

void statistics_ops(OpList& ops) {
  ops.add({&var_op, &std_op, &var_mean_op, &logsumexp_op, &vector_norm_op, &dist_op});
}

}  // namespace simmesh
