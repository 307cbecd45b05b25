#include "verify/pytorch/ops/op_run.h"

#include <algorithm>
#include <cmath>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "sharding/dtensor/dtensor.h"
#include "verify/pytorch/ops/python_functions.h"
#include "verify/pytorch/ops/recorded_plan.h"

namespace simmesh {

namespace {

// PyTorch's index_put has its values after the indices, ours before them.
DispatchedOp::PlacementsOfTensors in_order_of_arguments(
    const DispatchedOp& op, DispatchedOp::PlacementsOfTensors placements) {
  if (op.op.name == "index_put")
    std::rotate(placements.begin() + 1, placements.begin() + 2, placements.end());
  return placements;
}

// Call is a call with its results. The tensors that gradients are asked of are leaves.
struct Call {
  std::vector<Tensor> inputs;
  std::vector<PythonValue> results;
};

void ask_gradients(const OpCase& in, std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (in.asks_gradient[i]) set_requires_grad(inputs[i]);
}

std::vector<ActualResult> results_of(const std::vector<PythonValue>& values) {
  std::vector<ActualResult> results;
  for (const PythonValue& value : values) results.push_back(result_of(value));
  return results;
}

std::vector<ActualResult> gradients_of(const OpCase& in, const std::vector<Tensor>& inputs) {
  std::vector<ActualResult> results;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (in.asks_gradient[i]) results.push_back(result_of(PythonValue(grad_of(inputs[i]))));
  return results;
}

// Starts the backward pass at the first result.
void run_backward(const std::vector<PythonValue>& results, const Tensor& gradient) {
  const Tensor* first = results.empty() ? nullptr : results.front().find<Tensor>();
  if (first == nullptr || !first->is_defined())
    raise(ErrorKind::runtime_error, "verify/pytorch",
          "expected a tensor to differentiate, got none");
  backward(*first, {.gradients = {gradient}});
}

// Returns the inputs as whole tensors, before the call may change them.
std::vector<Tensor> whole_tensors(const std::vector<Tensor>& inputs) {
  NoGrad scope;
  std::vector<Tensor> whole;
  for (const Tensor& input : inputs)
    whole.push_back(input.distribution() ? DTensor::of(input.detach()).full_tensor().clone()
                                         : input.clone());
  return whole;
}

void run_whole(const OpCase& in, std::vector<Tensor> inputs, const Tensor& gradient, OpRun& run) {
  if (gradient.is_defined()) ask_gradients(in, inputs);
  std::vector<PythonValue> results = flat(call_python(in.function, in.arguments(inputs)));
  run.whole_outputs = results_of(results);
  if (!gradient.is_defined()) return;
  run_backward(results, gradient);
  run.whole_gradients = gradients_of(in, inputs);
}

void record(const std::vector<ActualResult>& results, Rank& rank) {
  for (const ActualResult& result : results)
    if (result.local.is_defined()) rank.record(result.local);
}

}  // namespace

double OpRun::cost_us() const {
  double cost = 0;
  for (const SeenOp& op : forward) cost += op.redistribute_cost_us;
  return cost;
}

void run_op(const OpCase& in, const OpRunOptions& options, Rank& rank, OpRun& run) {
  std::vector<Tensor> inputs;
  for (const OpInput& input : in.inputs) inputs.push_back(input.on(rank.id()));
  Tensor gradient;
  if (in.grad_output) gradient = in.grad_output->on(rank.id());
  run.recorded_cost_us = recorded_cost(in, inputs);
  std::vector<Tensor> whole;
  if (options.computes_whole) whole = whole_tensors(inputs);
  if (options.has_gradients) ask_gradients(in, inputs);

  run.stage = OpRun::Stage::forward;
  auto counted = rank.counters();
  std::vector<PythonValue> results;
  {
    DispatchScope scope([&](const DispatchedOp& op) {
      run.forward.push_back({op.op.name, in_order_of_arguments(op, op.given),
                             in_order_of_arguments(op, op.used), op.redistribute_cost_us,
                             op.gathers_of_unwaited, op.outputs});
    });
    results = flat(options.follows_recorded ? call_on_recorded(in, inputs)
                                            : call_python(in.function, in.arguments(inputs)));
  }
  run.comm = tally_since(counted, rank, call_collectives);
  for (const SeenOp& op : run.forward)
    if (op.gathers_of_unwaited > 0) run.comm["all_gather"] += op.gathers_of_unwaited;
  run.outputs = results_of(results);
  record(run.outputs, rank);
  if (options.has_gradients) {
    run.stage = OpRun::Stage::backward;
    counted = rank.counters();
    run_backward(results, gradient);
    run.comm_backward = tally_since(counted, rank, call_collectives);
    run.gradients = gradients_of(in, inputs);
    record(run.gradients, rank);
  }
  run.stage = OpRun::Stage::done;
  if (!options.computes_whole) return;
  Tensor whole_gradient;
  if (gradient.is_defined()) whole_gradient = whole_tensors({gradient}).front();
  run_whole(in, std::move(whole), whole_gradient, run);
}

}  // namespace simmesh
