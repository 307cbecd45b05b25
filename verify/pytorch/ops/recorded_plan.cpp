#include "verify/pytorch/ops/recorded_plan.h"

#include "core/check/error.h"
#include "sharding/dtensor/dtensor.h"
#include "verify/pytorch/ops/aten_operator.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

// Calls `visit` with each tensor of the call that is distributed, and its recorded placements.
// Raises an Error where the recorded ones are for other tensors.
template <class Visit>
void for_each_recorded(const OpCase& in, gsl::span<Tensor> tensors, Visit visit) {
  if (!in.used || in.used->size() != tensors.size())
    raise(ErrorKind::value_error, "verify/pytorch", "expected placements of {} tensors, got {}",
          tensors.size(), in.used ? in.used->size() : 0);
  std::vector<std::size_t> order = operator_order(in.function, tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor& tensor = tensors[order[i]];
    const auto& placements = (*in.used)[i];
    bool is_distributed = tensor.is_defined() && tensor.distribution() != nullptr;
    if (placements.has_value() != is_distributed)
      raise(ErrorKind::value_error, "verify/pytorch",
            "expected placements of each distributed tensor, got another list");
    if (placements) visit(tensor, *placements);
  }
}

}  // namespace

std::optional<double> recorded_cost(const OpCase& in, const std::vector<Tensor>& inputs) {
  if (!in.used) return std::nullopt;
  double cost = 0;
  try {
    std::vector<Tensor> tensors = tensors_of_call(in.function, in.arguments(inputs));
    for_each_recorded(in, tensors, [&](const Tensor& tensor, const Placements& placements) {
      cost += DTensor::of(tensor).redistribute_cost_us(placements,
                                                       {.planner = PlannerChoice::as_operand});
    });
  } catch (const Error&) {
    return std::nullopt;
  }
  return cost;
}

PythonValue call_on_recorded(const OpCase& in, const std::vector<Tensor>& inputs) {
  return call_python(in.function, in.arguments(inputs), [&](gsl::span<Tensor> tensors) {
    for_each_recorded(in, tensors, [](Tensor& tensor, const Placements& placements) {
      if (DTensor::of(tensor).placements() == placements) return;
      tensor = DTensor::of(tensor)
                   .redistribute_local(placements, {.planner = PlannerChoice::as_operand})
                   .as_tensor();
    });
  });
}

}  // namespace simmesh
