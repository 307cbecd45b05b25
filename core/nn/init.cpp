#include "core/nn/init.h"

#include <cmath>

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh::nn {

namespace {

struct Fans {
  std::int64_t in;
  std::int64_t out;
};

Fans fans_of(const Tensor& weight) {
  if (weight.dim() < 2)
    raise(ErrorKind::value_error, "nn/init",
          "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, got "
          "the shape {}",
          to_string(DimSpan(weight.shape())));
  std::int64_t receptive = 1;
  for (std::int64_t dim = 2; dim < weight.dim(); ++dim) receptive *= weight.size(dim);
  return {weight.size(1) * receptive, weight.size(0) * receptive};
}

void write(Tensor& tensor, const Tensor& values) {
  NoGrad mode;
  Tensor plain = tensor.detach();
  copy_from_(plain, values);
}

}  // namespace

Tensor new_parameter(DimSpan shape, const ParameterOptions& options) {
  return options.device == Device::meta ? empty_meta(shape, options.dtype)
                                        : empty(shape, options.dtype);
}

void uniform_(Tensor& tensor, const Uniform& range, const Generator& generator) {
  if (tensor.is_meta()) return;
  NoGrad mode;
  Tensor draws = rand(tensor.shape(), generator, {.dtype = DType::float64});
  write(tensor, add(mul(draws, range.high - range.low), range.low));
}

void normal_(Tensor& tensor, const Normal& distribution, const Generator& generator) {
  if (tensor.is_meta()) return;
  NoGrad mode;
  Tensor draws = randn(tensor.shape(), generator, {.dtype = DType::float64});
  write(tensor, add(mul(draws, distribution.deviation), distribution.mean));
}

void constant_(Tensor& tensor, double value) {
  if (tensor.is_meta()) return;
  write(tensor, full(tensor.shape(), tensor.dtype(), value));
}

void kaiming_uniform_(Tensor& weight, double slope, const Generator& generator) {
  double gain = std::sqrt(2.0 / (1.0 + slope * slope));
  double bound = gain * std::sqrt(3.0 / double(fans_of(weight).in));
  uniform_(weight, {-bound, bound}, generator);
}

void xavier_uniform_(Tensor& weight, double gain, const Generator& generator) {
  Fans fans = fans_of(weight);
  double bound = gain * std::sqrt(6.0 / double(fans.in + fans.out));
  uniform_(weight, {-bound, bound}, generator);
}

}  // namespace simmesh::nn
