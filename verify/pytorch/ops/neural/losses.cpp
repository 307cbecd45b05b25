#include "core/ops/neural/losses.h"

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/registry/registry.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

LossReduction reduction_in(const PythonCall& call) {
  std::string word = call.text("reduction");
  if (word == "none") return LossReduction::none;
  if (word == "mean") return LossReduction::mean;
  if (word == "sum") return LossReduction::sum;
  raise(ErrorKind::value_error, "verify/pytorch", "{} is not a valid value for reduction", word);
}

ClassLoss class_loss_of(const PythonCall& call, double label_smoothing) {
  return {.weight = call.tensor("weight"),
          .ignore_index = call.integer("ignore_index"),
          .reduction = reduction_in(call),
          .label_smoothing = label_smoothing};
}

using ElementLoss = Tensor (*)(const Tensor& x, const Tensor& target, LossReduction reduction);
PythonFunction element_loss(std::string names, ElementLoss function) {
  return {std::move(names), PythonSignature("Tensor self, Tensor target, *, str reduction='mean'"),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.tensor("target"), reduction_in(call));
          }};
}

PythonFunctions losses_functions() {
  return {
      element_loss("torch.nn.functional.mse_loss", mse_loss),
      element_loss("torch.nn.functional.l1_loss", l1_loss),
      {"aten.mse_loss.default", PythonSignature("Tensor self, Tensor target, int reduction=1"),
       [](PythonCall& call) -> PythonValue {
         return mse_loss(call.tensor("self"), call.tensor("target"),
                         LossReduction(call.integer("reduction")));
       }},
      {"torch.nn.functional.nll_loss",
       PythonSignature("Tensor self, Tensor target, Tensor? weight=None, *, "
                       "int ignore_index=-100, str reduction='mean'"),
       [](PythonCall& call) -> PythonValue {
         return nll_loss(call.tensor("self"), call.tensor("target"), class_loss_of(call, 0));
       }},
      {"torch.nn.functional.cross_entropy",
       PythonSignature("Tensor self, Tensor target, Tensor? weight=None, *, "
                       "int ignore_index=-100, str reduction='mean', float label_smoothing=0.0"),
       [](PythonCall& call) -> PythonValue {
         return cross_entropy(call.tensor("self"), call.tensor("target"),
                              class_loss_of(call, call.real("label_smoothing")));
       }},
      {"aten.nll_loss_forward.default",
       PythonSignature("Tensor self, Tensor target, Tensor? weight, int reduction, "
                       "int ignore_index"),
       [](PythonCall& call) -> PythonValue {
         return simmesh::call(*find_op("nll_loss_forward"),
                              {call.tensor("self"), call.tensor("target"), call.tensor("weight")},
                              {attribute::reduction = call.integer("reduction"),
                               attribute::ignore_index = call.integer("ignore_index")});
       }},
      {"torch.nn.functional.binary_cross_entropy_with_logits",
       PythonSignature("Tensor self, Tensor target, Tensor? weight=None, *, "
                       "str reduction='mean', Tensor? pos_weight=None"),
       [](PythonCall& call) -> PythonValue {
         return binary_cross_entropy_with_logits(call.tensor("self"), call.tensor("target"),
                                                 {.weight = call.tensor("weight"),
                                                  .pos_weight = call.tensor("pos_weight"),
                                                  .reduction = reduction_in(call)});
       }},
  };
}

const PythonFamily losses_family(losses_functions);

}  // namespace

}  // namespace simmesh
