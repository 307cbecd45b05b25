#include "core/check/error.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/elementwise/trigonometry.h"
#include "core/ops/neural/losses.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/reductions/sums.h"
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

// Both operands of float_power become float64 first.
PythonValue float_power_call(PythonCall& call) {
  if (!call.is_tensor("self"))
    return pow(Number(call.real("self")), to(call.tensor("exponent"), DType::float64));
  Tensor base = to(call.tensor("self"), DType::float64);
  if (!call.is_tensor("exponent")) return pow(base, Number(call.real("exponent")));
  return pow(base, to(call.tensor("exponent"), DType::float64));
}

PythonFunctions composed_powers() {
  return {{everywhere("float_power", "Tensor_Tensor Tensor_Scalar Scalar"),
           PythonSignature("Tensor|Scalar self, Tensor|Scalar exponent"), float_power_call}};
}

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
         return div(nansum_of_parts(x, dims, keepdim), count);
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

// No logarithm counts below -100, so that the loss stays finite.
Tensor probability_terms(const Tensor& x, const Tensor& target) {
  Tensor likely = clamp_min(log(x), -100.0), unlikely = clamp_min(log1p(neg(x)), -100.0);
  return sub(mul(sub(target, 1), unlikely), mul(target, likely));
}

PythonFunctions composed_losses() {
  return {
      {"torch.nn.functional.binary_cross_entropy",
       PythonSignature("Tensor self, Tensor target, Tensor? weight=None, *, str reduction='mean'"),
       [](PythonCall& call) -> PythonValue {
         Tensor terms = probability_terms(call.tensor("self"), call.tensor("target"));
         if (call.has("weight")) terms = mul(terms, call.tensor("weight"));
         return reduced_loss(terms, call.text("reduction"));
       }},
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

PythonFunctions composed_functions() {
  PythonFunctions functions;
  for (PythonFunctions (*family)() :
       {composed_activations, composed_powers, composed_norms, composed_losses})
    for (PythonFunction& function : family()) functions.push_back(std::move(function));
  return functions;
}

const PythonFamily family_of_compositions(composed_functions);

}  // namespace

}  // namespace simmesh
