#include <algorithm>
#include <numeric>

#include "core/check/error.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/elementwise/trigonometry.h"
#include "core/ops/functions/diagonals.h"
#include "core/ops/functions/reordering.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/matrices/linear_algebra.h"
#include "core/ops/matrices/products.h"
#include "core/ops/matrices/spectral.h"
#include "core/ops/neural/losses.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

// Functions that PyTorch composes of several ops, in the same order: distributed operands are then
// redistributed as often as there.

PythonFunctions composed_activations() {
  return {
      {"torch.nn.functional.softmin", PythonSignature("Tensor self, int dim"),
       [](PythonCall& call) -> PythonValue {
         return softmax(neg(call.tensor("self")), call.integer("dim"));
       }},
      of_tensor("torch.nn.functional.tanhshrink", [](const Tensor& x) { return sub(x, tanh(x)); }),
      of_tensor("torch.nn.functional.softsign",
                [](const Tensor& x) { return div(x, add(abs(x), 1)); }),
      {"torch.nn.functional.glu aten.glu.default", PythonSignature("Tensor self, int dim=-1"),
       [](PythonCall& call) -> PythonValue {
         std::vector<Tensor> halves = chunk(call.tensor("self"), 2, call.integer("dim"));
         return mul(halves[0], sigmoid(halves[1]));
       }},
  };
}

Tensor with_eps(const Tensor& norm, double eps) { return clamp_min(norm, eps); }

PythonFunctions composed_norms() {
  return {
      {"torch.nn.functional.normalize",
       PythonSignature("Tensor self, float p=2.0, int dim=1, float eps=1e-12"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("self");
         Tensor norm = vector_norm(x, call.real("p"), call.integer("dim"), true);
         return div(x, expand_as(with_eps(norm, call.real("eps")), x));
       }},
      {"torch.nn.functional.cosine_similarity torch.cosine_similarity",
       PythonSignature("Tensor x1, Tensor x2, int dim=1, float eps=1e-8"),
       [](PythonCall& call) -> PythonValue {
         Tensor a = call.tensor("x1"), b = call.tensor("x2");
         std::int64_t dim = call.integer("dim");
         Tensor of_a = with_eps(vector_norm(a, 2, dim, true), call.real("eps"));
         Tensor of_b = with_eps(vector_norm(b, 2, dim, true), call.real("eps"));
         Tensor unit = div(a, of_a);
         return sum(mul(unit, div(b, of_b)), dim);
       }},
      {"torch.linalg.matrix_norm aten.linalg_matrix_norm.str_ord",
       PythonSignature("Tensor self, str ord='fro', int[]? dim=None, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         if (call.text("ord") != "fro")
           raise(ErrorKind::not_implemented_error, "verify/pytorch",
                 "expected the norm 'fro' of matrices, got '{}'", call.text("ord"));
         Dims dims = call.has("dim") ? call.dims("dim") : Dims{-2, -1};
         return vector_norm(call.tensor("self"), 2, dims, call.flag("keepdim"));
       }},
      {everywhere("std_mean", "correction"),
       PythonSignature("Tensor self, int[]? dim=None, *, Scalar? correction=None, "
                       "bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         Spread spread{.correction = call.has("correction") ? call.real("correction") : 1.0,
                       .keepdim = call.flag("keepdim")};
         VarianceAndMean found = var_mean(call.tensor("self"), call.dims("dim"), spread);
         return std::vector<Tensor>{sqrt(found.variance), found.mean};
       }},
      {everywhere("nanmean"), PythonSignature("Tensor self, int[]? dim=None, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("self"), still = detach(x);
         Dims dims = call.dims("dim");
         bool keepdim = call.flag("keepdim");
         Tensor count = sum(logical_not(ne(still, still)), dims, keepdim);
         return div(nansum(x, dims, keepdim), count);
       }},
  };
}

Tensor reduced_loss(const Tensor& loss, const std::string& reduction) {
  if (reduction == "none") return loss;
  if (reduction == "sum") return sum(loss);
  if (reduction == "mean") return mean(loss);
  if (reduction == "batchmean") return div(sum(loss), double(loss.shape().at(0)));
  raise(ErrorKind::value_error, "verify/pytorch", "{} is not a valid value for reduction",
        reduction);
}

LossReduction loss_reduction(const std::string& reduction) {
  if (reduction == "none") return LossReduction::none;
  return reduction == "sum" ? LossReduction::sum : LossReduction::mean;
}

Tensor kl_terms(const Tensor& x, const Tensor& target, bool log_target) {
  if (log_target) return mul(exp(target), sub(target, x));
  Tensor crossed = mul(target, x);
  return sub(xlogy(target, target), crossed);
}

PythonFunctions composed_losses() {
  return {
      {"torch.nn.functional.kl_div",
       PythonSignature("Tensor self, Tensor target, *, str reduction='mean', "
                       "bool log_target=False"),
       [](PythonCall& call) -> PythonValue {
         return reduced_loss(
             kl_terms(call.tensor("self"), call.tensor("target"), call.flag("log_target")),
             call.text("reduction"));
       }},
      {"torch.nn.functional.huber_loss",
       PythonSignature("Tensor self, Tensor target, str reduction='mean', float delta=1.0"),
       [](PythonCall& call) -> PythonValue {
         return huber_loss(call.tensor("self"), call.tensor("target"),
                           loss_reduction(call.text("reduction")), call.real("delta"));
       }},
      {"torch.nn.functional.smooth_l1_loss",
       PythonSignature("Tensor self, Tensor target, *, str reduction='mean', float beta=1.0"),
       [](PythonCall& call) -> PythonValue {
         return smooth_l1_loss(call.tensor("self"), call.tensor("target"),
                               loss_reduction(call.text("reduction")), call.real("beta"));
       }},
      {"torch.nn.functional.soft_margin_loss",
       PythonSignature("Tensor self, Tensor target, *, str reduction='mean'"),
       [](PythonCall& call) -> PythonValue {
         Tensor margin = mul(neg(call.tensor("target")), call.tensor("self"));
         return reduced_loss(log1p(exp(margin)), call.text("reduction"));
       }},
  };
}

// Returns the shape of a grid's tensor i, with sizes of one in all other dims.
Tensor of_grid(const std::vector<Tensor>& tensors, std::size_t i, const Shape& grid) {
  Shape own(grid.size(), 1);
  own[i] = grid[i];
  return expand(view(tensors[i], own), grid);
}

std::vector<Tensor> grids(std::vector<Tensor> tensors, const std::string& indexing) {
  bool swaps = indexing == "xy" && tensors.size() > 1;
  if (swaps) std::swap(tensors[0], tensors[1]);
  Shape shape;
  for (const Tensor& tensor : tensors) shape.push_back(tensor.numel());
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < tensors.size(); ++i) result.push_back(of_grid(tensors, i, shape));
  if (!swaps) return result;
  for (Tensor& grid : result) grid = transpose(grid, 0, 1);
  std::swap(result[0], result[1]);
  return result;
}

Tensor at_least_three_dims(const Tensor& x) {
  if (x.dim() == 0) return view(x, {1, 1, 1});
  if (x.dim() == 1) return unsqueeze(unsqueeze(x, 0), -1);
  return x.dim() == 2 ? unsqueeze(x, -1) : x;
}

std::vector<Tensor> cut_evenly(PythonCall& call, const char* name, std::int64_t dim) {
  Tensor x = call.tensor("self");
  std::vector<PythonValue> entries = call.entries("indices_or_sections");
  if (!entries.empty()) return tensor_split(x, DimSpan(call.dims("indices_or_sections")), dim);
  std::int64_t sections = call.integer("indices_or_sections");
  if (x.dim() <= dim || sections <= 0 || x.size(dim) % sections != 0)
    raise(ErrorKind::runtime_error, name,
          "{} attempted to split along dimension {}, but the size of the dimension is not "
          "divisible by the split_size {}!",
          name, dim, sections);
  return tensor_split(x, sections, dim);
}

PythonFunctions composed_shapes() {
  const char* cut_signature = "Tensor self, int|int[] indices_or_sections";
  return {
      {"torch.meshgrid", PythonSignature("Tensor[] tensors, *, str indexing='ij'"),
       [](PythonCall& call) -> PythonValue {
         return grids(call.tensors("tensors"), call.text("indexing"));
       }},
      {"torch.meshgrid", PythonSignature("Tensor a, Tensor b, *, str indexing='ij'"),
       [](PythonCall& call) -> PythonValue {
         return grids({call.tensor("a"), call.tensor("b")}, call.text("indexing"));
       }},
      {"torch.cartesian_prod", PythonSignature("Tensor a, Tensor b"),
       [](PythonCall& call) -> PythonValue {
         std::vector<Tensor> columns = grids({call.tensor("a"), call.tensor("b")}, "ij");
         for (Tensor& column : columns) column = flatten(column);
         return stack(columns, 1);
       }},
      {"torch.dstack aten.dstack.default", PythonSignature("Tensor[] tensors"),
       [](PythonCall& call) -> PythonValue {
         std::vector<Tensor> tensors = call.tensors("tensors");
         for (Tensor& tensor : tensors) tensor = at_least_three_dims(tensor);
         return cat(tensors, 2);
       }},
      {"torch.column_stack aten.column_stack.default", PythonSignature("Tensor[] tensors"),
       [](PythonCall& call) -> PythonValue {
         std::vector<Tensor> tensors = call.tensors("tensors");
         for (Tensor& tensor : tensors)
           if (tensor.dim() <= 1) tensor = view(tensor, {tensor.numel(), 1});
         return cat(tensors, 1);
       }},
      {everywhere("hsplit", "int array"), PythonSignature(cut_signature),
       [](PythonCall& call) -> PythonValue {
         return cut_evenly(call, "torch.hsplit", call.tensor("self").dim() == 1 ? 0 : 1);
       }},
      {everywhere("vsplit", "int array"), PythonSignature(cut_signature),
       [](PythonCall& call) -> PythonValue { return cut_evenly(call, "torch.vsplit", 0); }},
      {everywhere("dsplit", "int array"), PythonSignature(cut_signature),
       [](PythonCall& call) -> PythonValue { return cut_evenly(call, "torch.dsplit", 2); }},
      {everywhere("diag"), PythonSignature("Tensor self, int diagonal=0"),
       [](PythonCall& call) -> PythonValue {
         return diag(call.tensor("self"), call.integer("diagonal"));
       }},
      {everywhere("diag_embed"), PythonSignature("Tensor self, int offset=0"),
       [](PythonCall& call) -> PythonValue {
         return diag_embed(call.tensor("self"), call.integer("offset"));
       }},
      {everywhere("take"), PythonSignature("Tensor self, Tensor index"),
       [](PythonCall& call) -> PythonValue {
         Tensor index = call.tensor("index");
         Tensor flat = reshape(call.tensor("self"), {-1});
         return reshape(index_select(flat, 0, reshape(index, {-1})), DimSpan(index.shape()));
       }},
      {everywhere("trapezoid", "dx") + " torch.trapz",
       PythonSignature("Tensor self, *, Scalar dx=1, int dim=-1"),
       [](PythonCall& call) -> PythonValue {
         Tensor y = call.tensor("self");
         std::int64_t dim = call.integer("dim");
         Tensor ends = mul(add(select(y, dim, 0), select(y, dim, -1)), 0.5);
         return mul(sub(sum(y, dim), ends), call.number("dx"));
       }},
  };
}

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

PythonFunctions composed_functions() {
  PythonFunctions functions;
  for (PythonFunctions (*family)() :
       {composed_activations, composed_norms, composed_losses, composed_shapes, composed_products})
    for (PythonFunction& function : family()) functions.push_back(std::move(function));
  return functions;
}

const PythonFamily family_of_compositions(composed_functions);

}  // namespace

}  // namespace simmesh
