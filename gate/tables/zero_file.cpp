#include "gate/tables/zero_file.h"

#include <fmt/format.h>

#include "zero/config/hjson.h"

namespace simmesh {

namespace {

// Values of the gate for "auto" in the file.
zero::AutoValues autos_of(const ZeroFileUse& gate) {
  zero::AutoValues autos{.train_batch_size = gate.data.batch,
                         .gradient_accumulation_steps = gate.train.micro_batches,
                         .gradient_clipping = gate.train.clip_grad_norm,
                         .fp16 = gate.model.dtype == DType::float16,
                         .bf16 = gate.model.dtype == DType::bfloat16};
  if (gate.model.width > 0) autos.hidden_size = gate.model.width;
  if (const auto* sgd = std::get_if<optim::SgdOptions>(&gate.train.optimizer)) {
    autos.lr = sgd->lr;
    autos.weight_decay = sgd->weight_decay;
    return autos;
  }
  if (const auto* muon = std::get_if<MuonSpec>(&gate.train.optimizer)) {
    autos.lr = muon->muon.lr;
    autos.weight_decay = muon->muon.weight_decay;
    return autos;
  }
  const optim::AdamOptions& adam = std::get<AdamSpec>(gate.train.optimizer).options;
  autos.lr = adam.lr;
  autos.weight_decay = adam.weight_decay;
  autos.betas = {adam.beta1, adam.beta2};
  autos.eps = adam.eps;
  return autos;
}

OptimizerSpec spec_of(const GateTable& parallel, const zero::OptimizerConfig& config) {
  if (config.type == "SGD")
    return optim::SgdOptions{.lr = config.lr,
                             .momentum = config.momentum,
                             .dampening = config.dampening,
                             .weight_decay = config.weight_decay,
                             .nesterov = config.nesterov,
                             .maximize = config.maximize};
  if (config.type != "Adam" && config.type != "AdamW")
    parallel.reject_value("zero", "a file with Adam, AdamW or SGD, which gates have", config.type);
  bool is_decoupled = config.type == "AdamW" || config.adam_w_mode;
  return AdamSpec{{.lr = config.lr,
                   .beta1 = config.betas[0],
                   .beta2 = config.betas[1],
                   .eps = config.eps,
                   .weight_decay = config.weight_decay,
                   .bias_correction = config.bias_correction,
                   .amsgrad = config.amsgrad,
                   .maximize = config.maximize},
                  is_decoupled ? optim::WeightDecay::decoupled : optim::WeightDecay::added};
}

// Takes a value of the file, or rejects it where the gate has another one.
template <class T>
void take(GateTable& top, const char* table_name, const char* key, const T& of_file, T& of_gate) {
  auto table = top.table(table_name);
  if (table && table->has(key) && of_gate != of_file)
    table->reject(key, fmt::format("{} as in the file of parallel.zero, or no such key", of_file));
  of_gate = of_file;
}

void refuse_in_gates(const GateTable& parallel, const zero::Config& config) {
  auto refuse = [&](bool is_there, const char* what) {
    if (is_there) parallel.reject_value("zero", "a file without it", what);
  };
  refuse(config.scheduler.has_value(), "a scheduler, which gates don't have");
  refuse(config.fp16.enabled, "fp16.enabled, whose loss scale a gate doesn't compare");
  refuse(config.torch_autocast.forward_dtype() == DType::float16,
         "torch_autocast in float16, whose loss scale a gate doesn't compare");
  refuse(config.sum_gradients, "gradient_allreduce_op 'sum'");
  refuse(!config.managed_gradient_accumulation, "managed_gradient_accumulation false");
}

}  // namespace

void take_zero_file(GateTable& top, const ZeroFileUse& gate) {
  GateZero& zero = gate.zero;
  if (zero.file.empty()) return;
  GateTable parallel = *top.table("parallel");
  std::int64_t ranks = gate.mesh.shape[gate.mesh.index_of(zero.mesh)];
  zero::BatchSizes sizes;
  try {
    zero.config =
        zero::Config::from_json_file(zero_file_path(gate.gate_file, zero.file), autos_of(gate));
    sizes = zero.config.batch_sizes(ranks);
  } catch (const Error& error) {
    parallel.reject_value("zero", "a DeepSpeed configuration", error.message());
  }
  refuse_in_gates(parallel, zero.config);
  DType dtype = zero.config.bf16.enabled ? DType::bfloat16 : DType::float32;
  if (dtype != gate.model.dtype)
    parallel.reject_value(
        "zero",
        fmt::format("a file that trains {}, as model.dtype says", to_string(gate.model.dtype)),
        fmt::format("one of {}", to_string(dtype)));
  take(top, "data", "batch", sizes.train_batch_size, gate.data.batch);
  take(top, "train", "micro_batches", sizes.gradient_accumulation_steps, gate.train.micro_batches);
  take(top, "train", "clip_grad_norm", zero.config.gradient_clipping, gate.train.clip_grad_norm);
  gate.train.autocast = zero.config.torch_autocast.forward_dtype();
  auto train = top.table("train");
  if (!zero.config.optimizer) return;
  if (train && train->has("optimizer"))
    train->reject_value("optimizer", "no such key beside a file with the section optimizer",
                        "both of them");
  gate.train.optimizer = spec_of(parallel, *zero.config.optimizer);
}

}  // namespace simmesh
