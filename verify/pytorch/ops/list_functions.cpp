#include <fmt/format.h>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/registry/registry.h"
#include "core/optim/adam.h"
#include "core/tensor/scalar_value.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/strategies/strategy.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

void check_lengths(std::size_t expected, std::size_t actual) {
  if (expected != actual)
    raise(ErrorKind::runtime_error, "verify/pytorch",
          "Tensor lists must have the same number of tensors, got {} and {}", expected, actual);
}

// Other is the entry for tensor i of a list of tensors or numbers, or the number that stands for
// all.
struct Other {
  Tensor tensor;
  std::optional<Number> number;
};

std::vector<Other> others_of(const PythonCall& call, std::size_t count) {
  std::vector<Other> others;
  if (call.has("other") && call.number_if("other")) {
    others.assign(count, {.tensor = {}, .number = call.number("other")});
    return others;
  }
  for (const PythonValue& entry : call.entries("other"))
    others.push_back(entry.find<Tensor>() ? Other{*entry.find<Tensor>(), {}}
                                          : Other{{}, entry.as_number()});
  if (call.is_tensor("other")) others.assign(count, {.tensor = call.tensor("other"), .number = {}});
  check_lengths(count, others.size());
  return others;
}

// Brings a tensor that is the operand of each element to rest. In place all elements need it so,
// and PyTorch brings it there once for the whole list.
Other at_rest(Other other) {
  if (!other.tensor.is_defined() || !other.tensor.distribution()) return other;
  DTensor value = DTensor::of(other.tensor);
  other.tensor = value.redistribute(Placements(value.placements().size(), Replicate())).as_tensor();
  return other;
}

constexpr const char* with_other_signature = "Tensor[] self, Scalar|Tensor|Tensor[]|Scalar[] other";

using OfNumber = Tensor (*)(const Tensor& a, Number b);

Tensor plain_add(const Tensor& a, Number b) { return add(a, b); }
Tensor plain_sub(const Tensor& a, Number b) { return sub(a, b); }
Tensor plain_div(const Tensor& a, Number b) { return div(a, b); }
Tensor maximum_of_number(const Tensor& a, Number b) { return clamp_min(a, b); }
Tensor minimum_of_number(const Tensor& a, Number b) { return clamp_max(a, b); }

std::string list_names(const std::string& name) {
  return "torch._foreach_" + name + " aten._foreach_" + name + ".List aten._foreach_" + name +
         ".Scalar aten._foreach_" + name + ".ScalarList aten._foreach_" + name + ".Tensor";
}

void add_list_function(PythonFunctions& functions, const std::string& name, OfNumber of_number) {
  auto each = [=](PythonCall& call, bool in_place) -> PythonValue {
    std::vector<Tensor> selves = call.tensors("self");
    std::vector<Other> others = others_of(call, selves.size());
    if (in_place && call.is_tensor("other") && !others.empty())
      others.assign(others.size(), at_rest(others[0]));
    for (std::size_t i = 0; i < selves.size(); ++i) {
      const Op& op = *find_op(name);
      const Attributes element = {attribute::of_list = true};
      if (!in_place) {
        selves[i] = others[i].number ? of_number(selves[i], *others[i].number)
                                     : call_one(op, {selves[i], others[i].tensor}, element);
      } else if (others[i].number) {
        call_in_place(op, selves[i], {selves[i]}, {attribute::other = *others[i].number});
      } else {
        call_in_place(op, selves[i], {selves[i], others[i].tensor}, element);
      }
    }
    return selves;
  };
  functions.push_back({list_names(name), PythonSignature(with_other_signature),
                       [=](PythonCall& call) { return each(call, false); }});
  functions.push_back({list_names(name + "_"), PythonSignature(with_other_signature),
                       [=](PythonCall& call) { return each(call, true); }});
}

void add_unary_list_functions(PythonFunctions& functions) {
  for (const char* name : {"abs", "neg", "sqrt", "rsqrt", "reciprocal", "exp", "log", "sign",
                           "sigmoid", "tanh", "floor", "ceil", "round", "trunc"})
    for (bool in_place : {false, true}) {
      std::string whole = std::string(name) + (in_place ? "_" : "");
      const Op* op = find_op(name);
      functions.push_back({fmt::format("torch._foreach_{0} aten._foreach_{0}.default", whole),
                           PythonSignature("Tensor[] self"), [=](PythonCall& call) -> PythonValue {
                             std::vector<Tensor> selves = call.tensors("self");
                             for (Tensor& self : selves) {
                               if (in_place)
                                 call_in_place(*op, self, {self});
                               else
                                 self = call_one(*op, {self});
                             }
                             return selves;
                           }});
    }
}

using Three = Tensor (*)(const Tensor& x, const Tensor& a, const Tensor& b, Number value);
PythonFunction three_lists(const std::string& name, Three function) {
  return {"torch._foreach_" + name + " aten._foreach_" + name + ".Scalar",
          PythonSignature("Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1"),
          [=](PythonCall& call) -> PythonValue {
            std::vector<Tensor> selves = call.tensors("self");
            std::vector<Tensor> first = call.tensors("tensor1"), second = call.tensors("tensor2");
            check_lengths(selves.size(), first.size());
            check_lengths(selves.size(), second.size());
            for (std::size_t i = 0; i < selves.size(); ++i)
              selves[i] = function(selves[i], first[i], second[i], call.number("value"));
            return selves;
          }};
}

// Returns the form in place of an op of three tensors and a value.
PythonFunction three_lists_in_place(const std::string& name) {
  return {"torch._foreach_" + name + "_ aten._foreach_" + name + "_.Scalar",
          PythonSignature("Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1"),
          [=](PythonCall& call) -> PythonValue {
            std::vector<Tensor> selves = call.tensors("self");
            std::vector<Tensor> first = call.tensors("tensor1"), second = call.tensors("tensor2");
            check_lengths(selves.size(), first.size());
            check_lengths(selves.size(), second.size());
            for (std::size_t i = 0; i < selves.size(); ++i)
              call_in_place(*find_op(name), selves[i], {selves[i], first[i], second[i]},
                            {attribute::value = call.number("value")});
            return selves;
          }};
}

PythonValue lerp_lists_in_place(PythonCall& call) {
  std::vector<Tensor> selves = call.tensors("self"), ends = call.tensors("tensors1");
  check_lengths(selves.size(), ends.size());
  for (std::size_t i = 0; i < selves.size(); ++i)
    call_in_place(*find_op("lerp"), selves[i], {selves[i], ends[i]},
                  {attribute::weight = call.number("weight")});
  return selves;
}

PythonValue zeroed_list(PythonCall& call) {
  std::vector<Tensor> selves = call.tensors("self");
  for (Tensor& self : selves) zero_(self);
  return selves;
}

PythonValue copied_lists(PythonCall& call) {
  std::vector<Tensor> selves = call.tensors("self"), sources = call.tensors("src");
  check_lengths(selves.size(), sources.size());
  for (std::size_t i = 0; i < selves.size(); ++i) copy_from_(selves[i], sources[i]);
  return selves;
}

// Returns clamp_min or clamp_max by numbers, which maximum and minimum are, or pow by numbers.
PythonFunction by_numbers(const std::string& name, OfNumber function) {
  return {"torch._foreach_" + name + " aten._foreach_" + name + ".Scalar aten._foreach_" + name +
              ".ScalarList",
          PythonSignature("Tensor[] self, Scalar|Scalar[] other"),
          [=](PythonCall& call) -> PythonValue {
            std::vector<Tensor> selves = call.tensors("self");
            std::vector<Other> others = others_of(call, selves.size());
            for (std::size_t i = 0; i < selves.size(); ++i)
              selves[i] = function(selves[i], *others[i].number);
            return selves;
          }};
}

Tensor power_of_number(const Tensor& a, Number b) { return pow(a, b); }

PythonValue lerp_lists(PythonCall& call) {
  std::vector<Tensor> selves = call.tensors("self"), ends = call.tensors("tensors1");
  check_lengths(selves.size(), ends.size());
  std::vector<Tensor> weights;
  if (!call.number_if("weight")) weights = call.tensors("weight");
  for (std::size_t i = 0; i < selves.size(); ++i)
    selves[i] = weights.empty() ? lerp(selves[i], ends[i], call.number("weight"))
                                : lerp(selves[i], ends[i], weights.at(i));
  return selves;
}

PythonValue norm_list(PythonCall& call) {
  std::vector<Tensor> selves = call.tensors("self");
  for (Tensor& self : selves) self = vector_norm(self, call.real("ord"));
  return selves;
}

// Returns the rank's own piece of a tensor, with the placements of the parameter.
Tensor piece_like(const Tensor& tensor, const Tensor& parameter) {
  if (!tensor.distribution() || !parameter.distribution()) return tensor.local_part();
  DTensor value = DTensor::of(tensor);
  const Placements& wanted = DTensor::of(parameter).placements();
  return value.placements() == wanted ? value.local() : value.redistribute(wanted).local();
}

PythonValue fused_adam(PythonCall& call, optim::WeightDecay decay) {
  std::vector<Tensor> parameters = call.tensors("self"), gradients = call.tensors("grads");
  std::vector<Tensor> firsts = call.tensors("exp_avgs"), seconds = call.tensors("exp_avg_sqs");
  std::vector<Tensor> steps = call.tensors("state_steps");
  std::vector<Tensor> largest = call.tensors("max_exp_avg_sqs");
  if (call.flag("amsgrad"))
    check_lengths(parameters.size(), largest.size());
  else
    largest.assign(parameters.size(), Tensor());
  for (const std::vector<Tensor>* list : {&gradients, &firsts, &seconds, &steps})
    check_lengths(parameters.size(), list->size());
  optim::AdamOptions options{.lr = call.real("lr"),
                             .beta1 = call.real("beta1"),
                             .beta2 = call.real("beta2"),
                             .eps = call.real("eps"),
                             .weight_decay = call.real("weight_decay")};
  std::vector<Tensor> results = parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Tensor gradient = piece_like(gradients[i], parameters[i]);
    if (call.flag("maximize")) gradient = neg(gradient);
    optim::AdamTensors tensors{parameters[i].local_part(),
                               gradient,
                               firsts[i].local_part(),
                               seconds[i].local_part(),
                               std::int64_t(scalar_value(steps[i].local_part())),
                               largest[i].is_defined() ? largest[i].local_part() : Tensor()};
    optim::adam_(gsl::span<optim::AdamTensors>(&tensors, 1), options, decay);
  }
  results.insert(results.end(), firsts.begin(), firsts.end());
  results.insert(results.end(), seconds.begin(), seconds.end());
  return results;
}

PythonFunction adam_function(const std::string& name, optim::WeightDecay decay) {
  return {"recorder." + name,
          PythonSignature("Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, "
                          "Tensor[] exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] state_steps, "
                          "*, float lr, float beta1, float beta2, float weight_decay, float eps, "
                          "bool amsgrad, bool maximize"),
          [=](PythonCall& call) { return fused_adam(call, decay); }};
}

PythonFunctions list_functions() {
  PythonFunctions functions = {
      three_lists("addcmul", addcmul),
      three_lists("addcdiv", addcdiv),
      {"torch._foreach_lerp aten._foreach_lerp.Scalar aten._foreach_lerp.List",
       PythonSignature("Tensor[] self, Tensor[] tensors1, Scalar|Tensor[] weight"), lerp_lists},
      {"torch._foreach_norm aten._foreach_norm.Scalar",
       PythonSignature("Tensor[] self, Scalar ord=2"), norm_list},
      {"torch._foreach_lerp_ aten._foreach_lerp_.Scalar",
       PythonSignature("Tensor[] self, Tensor[] tensors1, Scalar weight"), lerp_lists_in_place},
      {"torch._foreach_zero_ aten._foreach_zero_.default", PythonSignature("Tensor[] self"),
       zeroed_list},
      {"torch._foreach_copy_ aten._foreach_copy_.default",
       PythonSignature("Tensor[] self, Tensor[] src, bool non_blocking=False"), copied_lists},
      three_lists_in_place("addcmul"),
      three_lists_in_place("addcdiv"),
      by_numbers("clamp_min", maximum_of_number),
      by_numbers("clamp_max", minimum_of_number),
      by_numbers("pow", power_of_number),
      adam_function("fused_adam", optim::WeightDecay::added),
      adam_function("fused_adamw", optim::WeightDecay::decoupled),
  };
  add_list_function(functions, "add", plain_add);
  add_list_function(functions, "sub", plain_sub);
  add_list_function(functions, "mul", mul);
  add_list_function(functions, "div", plain_div);
  add_list_function(functions, "maximum", maximum_of_number);
  add_list_function(functions, "minimum", minimum_of_number);
  add_unary_list_functions(functions);
  return functions;
}

const PythonFamily list_family(list_functions);

}  // namespace

}  // namespace simmesh
