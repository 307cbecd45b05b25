#include "core/ops/matrices/compositions.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

TensorTypes cross_types(gsl::span<const TensorType> inputs, const Attributes& attributes) {
  auto dim = attributes.get(attribute::dim);
  for (const TensorType& input : inputs)
    if (input.shape.size() != inputs[0].shape.size() || input.shape[std::size_t(dim)] != 3)
      raise(ErrorKind::runtime_error, "cross",
            "inputs dimension {} must have length 3. Got {} and {}", dim,
            to_string(DimSpan(inputs[0].shape)), to_string(DimSpan(inputs[1].shape)));
  return {{broadcast_shapes(inputs), result_type(inputs)}};
}

const Op cross_op = {
    .name = "linalg_cross",
    .shape = cross_types,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Dims dims = {attributes.get(attribute::dim)};
          const Tensor &a = inputs[0], &b = inputs[1];
          Tensor first = roll(a, Dims{-1}, dims) * roll(b, Dims{1}, dims);
          Tensor second = roll(a, Dims{1}, dims) * roll(b, Dims{-1}, dims);
          copy_(outputs[0], converted(first - second, outputs[0].dtype()));
        },
};

Tensor with_rank(const Tensor& x, std::size_t rank) {
  Shape shape = x.shape();
  if (shape.size() == rank) return x;
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return reshape(x, shape);
}

}  // namespace

Tensor kron(const Tensor& a, const Tensor& b) {
  std::size_t rank = std::size_t(std::max(a.dim(), b.dim()));
  Tensor left = with_rank(a, rank), right = with_rank(b, rank);
  Shape of_left, of_right, whole;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    of_left.insert(of_left.end(), {left.shape()[dim], 1});
    of_right.insert(of_right.end(), {1, right.shape()[dim]});
    whole.push_back(left.shape()[dim] * right.shape()[dim]);
  }
  return reshape(reshape(left, of_left) * reshape(right, of_right), whole);
}

Tensor cross(const Tensor& a, const Tensor& b, std::optional<std::int64_t> dim) {
  std::int64_t along = dim ? wrapped_dim(*dim, a.shape().size()) : 0;
  while (!dim && along < a.dim() && a.size(along) != 3) ++along;
  if (along >= a.dim()) raise(ErrorKind::runtime_error, "cross", "no dimension of size 3 in input");
  return call_one(cross_op, {a, b}, {attribute::dim = along});
}

Tensor cdist(const Tensor& a, const Tensor& b, double p) {
  if (a.dim() < 2 || b.dim() < 2 || a.shape().back() != b.shape().back())
    raise(ErrorKind::runtime_error, "cdist",
          "X1 and X2 must have at least two dims and the same number of columns. X1: {} X2: {}",
          to_string(DimSpan(a.shape())), to_string(DimSpan(b.shape())));
  return vector_norm(unsqueeze(a, -2) - unsqueeze(b, -3), p, -1);
}

Tensor renorm(const Tensor& x, const Renorm& options) {
  if (x.dim() < 2 || options.p <= 0 || options.max_norm < 0)
    raise(ErrorKind::runtime_error, "renorm",
          "expected at least 2 dims, a p above 0 and a maxnorm of at least 0, got {}, {} and {}",
          to_string(DimSpan(x.shape())), options.p, options.max_norm);
  std::int64_t dim = wrapped_dim(options.dim, x.shape().size());
  Dims others;
  for (std::int64_t other = 0; other < x.dim(); ++other)
    if (other != dim) others.push_back(other);
  Tensor norms = vector_norm(x, options.p, others, true);
  Tensor shrunk = options.max_norm / (norms + 1e-7);
  return x * where(gt(norms, options.max_norm), shrunk, 1.0);
}

void compositions_ops(OpList& ops) { ops.add({&cross_op}); }

}  // namespace simmesh
