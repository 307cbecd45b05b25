#include "training/tensor_form.h"

#include "core/autograd/variable.h"
#include "core/nn/attention.h"
#include "core/nn/dropout.h"
#include "core/nn/gated_mlp.h"
#include "core/nn/moe.h"
#include "core/nn/normalization.h"
#include "core/ops/compute_mode.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/parallel/colwise_parallel.h"
#include "sharding/parallel/expert_parallel.h"
#include "sharding/parallel/prepare_module.h"
#include "sharding/parallel/rowwise_parallel.h"
#include "sharding/parallel/sequence_parallel.h"

namespace simmesh {

namespace {

const Placement sequences_cut = Shard(1);

bool has_child(const nn::Module& module, std::string_view name) {
  for (const auto& [child_name, child] : module.children())
    if (child_name == name) return true;
  return false;
}

// The first layers are split by columns, the last one by rows; its products are added up. Each
// first layer gets a plain input, so that each adds up its own gradient of it, as one device does.
struct Pair {
  std::string module;
  std::vector<std::string> columns;
  std::string rows;
};

void add_pair(const Pair& pair, const TensorForm& tensor, ParallelizePlan& plan) {
  std::string prefix = pair.module.empty() ? "" : pair.module + ".";
  for (const std::string& name : pair.columns) plan.emplace_back(prefix + name, ColwiseParallel());
  RowwiseParallel rows;
  if (tensor.sequence_parallel) {
    rows.output_layout = sequences_cut;
    plan.emplace_back(pair.module, PrepareModuleInput{.input_layouts = {sequences_cut},
                                                      .desired_input_layouts = {Replicate()},
                                                      .use_local_output = true});
  }
  plan.emplace_back(prefix + pair.rows, rows);
}

// Takes whole sequences, and gives each rank its part of the result.
void add_moe(const std::string& path, ParallelizePlan& plan) {
  plan.emplace_back(
      path, PrepareModuleInputOutput{.input = {.input_layouts = {sequences_cut},
                                               .desired_input_layouts = {Replicate()},
                                               .use_local_output = true},
                                     .output = {.output_layouts = {Replicate()},
                                                .desired_output_layouts = {sequences_cut}}});
}

bool is_partial(const Placements& placements) {
  for (const Placement& one : placements)
    if (one.is_partial()) return true;
  return false;
}

// Makes the gradients of normalisations parts on every rank. Those of a rank that has no positions
// of a sequence, under context parallelism, are replicated, since nothing of them is cut; ranks
// that have positions would add up theirs after a reduction over both, and this one wouldn't.
void keep_parts(nn::Module& model) {
  for (const auto& [path, module] : model.named_modules()) {
    if (!dynamic_cast<nn::LayerNorm*>(module) && !dynamic_cast<nn::RMSNorm*>(module)) continue;
    for (const auto& [name, parameter] : module->named_parameters()) {
      if (!parameter.requires_grad() || !parameter.distribution()) continue;
      Tensor leaf = parameter;
      register_hook(leaf, [](const Tensor& gradient) {
        bool is_whole = gradient.distribution() && !is_partial(DTensor::of(gradient).placements());
        return is_whole ? DTensor::of(gradient).redistribute_local({Partial()}).as_tensor()
                        : gradient;
      });
    }
  }
}

// A parameter that every rank has and uses on a part of the sequence gets a part of its gradient.
void settle_gradients(nn::Module& model) {
  NoGrad mode;
  for (const auto& [name, parameter] : model.named_parameters()) {
    Tensor gradient = grad_of(parameter);
    if (!gradient.is_defined() || !gradient.distribution()) continue;
    DTensor partial = DTensor::of(gradient);
    if (!is_partial(partial.placements())) continue;
    Tensor owner = parameter;
    set_grad(owner, partial.redistribute(DTensor::of(parameter).placements()).as_tensor());
  }
}

}  // namespace

ParallelizePlan tensor_plan(nn::Module& model, const TensorForm& tensor) {
  ParallelizePlan plan;
  std::string moe;  // the path before what is below the last nn::Moe
  for (const auto& [path, module] : model.named_modules()) {
    bool is_norm = dynamic_cast<nn::LayerNorm*>(module) || dynamic_cast<nn::RMSNorm*>(module);
    // Modules below an nn::Moe have whole sequences. Experts of other ranks have no parameters.
    bool is_below_moe = !moe.empty() && path.starts_with(moe);
    bool is_expert = is_below_moe && is_expert_parameter(model, path + ".");
    if (is_expert && (tensor.whole_experts || module->parameters().empty())) continue;
    TensorForm form = tensor;
    form.sequence_parallel &= !is_below_moe;
    if (dynamic_cast<nn::Moe*>(module)) moe = path.empty() ? path : path + ".";
    if (dynamic_cast<nn::Attention*>(module))
      add_pair({path, {"wq", "wk", "wv"}, "wo"}, form, plan);
    else if (dynamic_cast<nn::GatedMlp*>(module))
      add_pair({path, {"w1", "w3"}, "w2"}, form, plan);
    else if (has_child(*module, "fc1") && has_child(*module, "fc2"))
      add_pair({path, {"fc1"}, "fc2"}, form, plan);
    else if (form.sequence_parallel && dynamic_cast<nn::Moe*>(module))
      add_moe(path, plan);
    else if (form.sequence_parallel && is_norm)
      plan.emplace_back(path, SequenceParallel());
    else if (form.sequence_parallel && dynamic_cast<nn::Dropout*>(module))
      plan.emplace_back(path, SequenceParallel{.use_local_output = true});
  }
  if (!tensor.sequence_parallel) return plan;
  if (has_child(model, "pos"))
    plan.emplace_back("pos", PrepareModuleOutput{.output_layouts = {Replicate()},
                                                 .desired_output_layouts = {sequences_cut}});
  if (has_child(model, "head"))
    plan.emplace_back("head",
                      ColwiseParallel{.input_layout = sequences_cut, .output_layout = Replicate()});
  return plan;
}

ParallelForm with_tensor(ParallelForm form, const TensorForm& tensor, const DeviceMesh& mesh) {
  form.prepare = [tensor, mesh, next = std::move(form.prepare)](nn::Module& model) {
    parallelize(model, mesh, tensor_plan(model, tensor));
    if (tensor.sequence_parallel) keep_parts(model);
    if (next) next(model);
  };
  form.after_backward = [next = std::move(form.after_backward)](nn::Module& model) {
    settle_gradients(model);
    if (next) next(model);
  };
  return form;
}

}  // namespace simmesh
