#include <algorithm>
#include <numeric>

#include "core/check/error.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/matrices/linear_algebra.h"
#include "core/ops/matrices/products.h"
#include "core/ops/matrices/spectral.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

// Contracts the last dims of a with the first of b, after both are permuted: torch.tensordot.
Tensor contracted(const Tensor& a, const Tensor& b, Dims of_a, Dims of_b) {
  auto wrap = [](Dims& dims, const Tensor& x) {
    for (std::int64_t& dim : dims) dim += dim < 0 ? x.dim() : 0;
  };
  wrap(of_a, a);
  wrap(of_b, b);
  Dims left, right = of_b;
  Shape shape;
  std::int64_t depth = 1;
  for (std::int64_t dim : of_a) depth *= a.size(dim);
  for (std::int64_t dim = 0; dim < a.dim(); ++dim)
    if (std::find(of_a.begin(), of_a.end(), dim) == of_a.end()) {
      left.push_back(dim);
      shape.push_back(a.size(dim));
    }
  std::int64_t rows = numel(shape), columns = 1;
  left.insert(left.end(), of_a.begin(), of_a.end());
  for (std::int64_t dim = 0; dim < b.dim(); ++dim)
    if (std::find(of_b.begin(), of_b.end(), dim) == of_b.end()) {
      right.push_back(dim);
      shape.push_back(b.size(dim));
      columns *= b.size(dim);
    }
  Tensor product =
      mm(reshape(permute(a, left), {rows, depth}), reshape(permute(b, right), {depth, columns}));
  return reshape(product, shape);
}

Dims counted(std::int64_t begin, std::int64_t count) {
  Dims dims(std::size_t(count), 0);
  std::iota(dims.begin(), dims.end(), begin);
  return dims;
}

// Multiplies three matrices in the order that takes fewer multiplications, more of them from left
// to right.
Tensor chained(const std::vector<Tensor>& matrices) {
  if (matrices.size() == 3) {
    const Tensor &a = matrices[0], &b = matrices[1], &c = matrices[2];
    std::int64_t left = a.size(0) * b.size(1) * (b.size(0) + c.size(1));
    std::int64_t right = b.size(0) * c.size(1) * (a.size(0) + b.size(1));
    Tensor product = left > right ? mm(a, mm(b, c)) : mm(mm(a, b), c);
    return product;
  }
  if (matrices.size() != 2)
    raise(ErrorKind::not_implemented_error, "verify/pytorch",
          "expected two or three matrices to multiply, got {}", matrices.size());
  return mm(matrices[0], matrices[1]);
}

Tensor covariance(const Tensor& x, double correction) {
  Tensor rows = x.dim() < 2 ? view(x, {1, x.numel()}) : x;
  auto observations = double(rows.size(1));
  Tensor mean_of_rows = div(sum(rows, 1), observations);
  Tensor centred = sub(rows, unsqueeze(mean_of_rows, 1));
  return squeeze(div(mm(centred, t(centred)), observations - correction));
}

PythonFunctions composed_products() {
  return {
      {"torch.tensordot", PythonSignature("Tensor a, Tensor b, int dims=2"),
       [](PythonCall& call) -> PythonValue {
         Tensor a = call.tensor("a"), b = call.tensor("b");
         std::int64_t count = call.integer("dims");
         return contracted(a, b, counted(a.dim() - count, count), counted(0, count));
       }},
      {everywhere("inner"), PythonSignature("Tensor self, Tensor other"),
       [](PythonCall& call) -> PythonValue {
         Tensor a = call.tensor("self"), b = call.tensor("other");
         if (a.dim() == 0 || b.dim() == 0) return mul(a, b);
         return contracted(a, b, {-1}, {-1});
       }},
      {everywhere("addr"),
       PythonSignature("Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("self");
         if (call.real("beta") != 1) x = mul(x, call.number("beta"));
         return addcmul(x, unsqueeze(call.tensor("vec1"), 1), unsqueeze(call.tensor("vec2"), 0),
                        call.number("alpha"));
       }},
      {"torch.linalg.multi_dot", PythonSignature("Tensor[] tensors"),
       [](PythonCall& call) -> PythonValue { return chained(call.tensors("tensors")); }},
      {"torch.chain_matmul", PythonSignature("Tensor a, Tensor b, Tensor c"),
       [](PythonCall& call) -> PythonValue {
         return chained({call.tensor("a"), call.tensor("b"), call.tensor("c")});
       }},
      {"torch.chain_matmul", PythonSignature("Tensor a, Tensor b"),
       [](PythonCall& call) -> PythonValue { return mm(call.tensor("a"), call.tensor("b")); }},
      {everywhere("cov"), PythonSignature("Tensor self, *, int correction=1"),
       [](PythonCall& call) -> PythonValue {
         return covariance(call.tensor("self"), double(call.integer("correction")));
       }},
      of_tensor(everywhere("corrcoef"),
                [](const Tensor& x) {
                  Tensor all = covariance(x, 1);
                  if (all.dim() == 0) return div(all, all);
                  Tensor deviation = sqrt(diagonal(all));
                  Tensor scaled = div(all, view(deviation, {-1, 1}));
                  return clamp(div(scaled, view(deviation, {1, -1})), -1.0, 1.0);
                }),
      of_tensor("torch.linalg.det aten.linalg_det.default torch.det Tensor.det", det),
      of_tensor("torch.linalg.inv aten.linalg_inv.default torch.inverse Tensor.inverse", inverse),
      {"torch.linalg.qr", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue {
         Qr found = qr(call.tensor("self"));
         return std::vector<Tensor>{found.q, found.r};
       }},
  };
}

const PythonFamily family_of_composed_products(composed_products);

}  // namespace

}  // namespace simmesh
