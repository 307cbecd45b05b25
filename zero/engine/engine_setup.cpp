#include "zero/engine/engine_setup.h"

#include "core/check/error.h"
#include "core/optim/adagrad.h"
#include "core/optim/adam.h"
#include "core/optim/lion.h"
#include "core/optim/rmsprop.h"
#include "core/optim/sgd.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view setup_source = "zero/engine";

[[noreturn]] void refuse_key(std::string_view key, std::string_view expected,
                             const ZeroOptimization& zero) {
  raise(ErrorKind::assertion_error, setup_source, "{}: expected {} in stage {}", key, expected,
        zero.stage);
}

// A reduce-scatter only supports averages before it.
void check_reduction(const Config& config) {
  const ZeroOptimization& zero = config.zero_optimization;
  if (zero.stage < 2 || !zero.reduce_scatter) return;
  if (config.gradient_predivide_factor != 1.0)
    refuse_key("gradient_predivide_factor", "1 with reduce_scatter", zero);
  if (config.prescale_gradients)
    refuse_key("prescale_gradients", "false with reduce_scatter", zero);
}

template <class Offload>
void check_offload(std::string_view key, const std::optional<Offload>& offload,
                   const ZeroOptimization& zero) {
  if (offload && offload->device == OffloadDevice::nvme && !offload->nvme_path)
    refuse_key(fmt::format("zero_optimization.{}.nvme_path", key), "a path", zero);
}

DType model_dtype(const Config& config) {
  return config.fp16.enabled   ? DType::float16
         : config.bf16.enabled ? DType::bfloat16
                               : DType::float32;
}

void check_param_dtype(const Config& config) {
  if (!config.data_types.param_dtype || *config.data_types.param_dtype == model_dtype(config))
    return;
  raise(ErrorKind::assertion_error, setup_source,
        "data_types.param_dtype: expected the dtype of the model, which is {}, got {}",
        to_string(model_dtype(config)), to_string(*config.data_types.param_dtype));
}

void check_stage(const Config& config) {
  const ZeroOptimization& zero = config.zero_optimization;
  bool is_flat = zero.stage == 1 || zero.stage == 2;
  if (zero.legacy_stage1) refuse_key("zero_optimization.legacy_stage1", "false", zero);
  if (is_flat && zero.allgather_bucket_size % 2 != 0)
    refuse_key("zero_optimization.allgather_bucket_size",
               "an even number, a multiple of nccl_start_alignment_factor,", zero);
  if (!zero.compute_grad_norm && (!is_flat || config.gradient_clipping > 0))
    refuse_key("zero_optimization.compute_grad_norm", "true, or stage 1 or 2 without clipping,",
               zero);
  if (zero.stage < 3 && is_offloaded(zero.offload_param))
    refuse_key("zero_optimization.offload_param", "stage 3, got the device of another", zero);
  if (zero.stage < 3 && zero.offload_optimizer && zero.offload_optimizer->ratio < 1)
    refuse_key("zero_optimization.offload_optimizer.ratio", "1", zero);
  if (zero.stage < 3 && zero.offload_optimizer &&
      zero.offload_optimizer->device == OffloadDevice::nvme)
    refuse_key("zero_optimization.offload_optimizer.device", "none or cpu", zero);
  check_offload("offload_param", zero.offload_param, zero);
  check_offload("offload_optimizer", zero.offload_optimizer, zero);
}

}  // namespace

Config completed_config(Config config, std::int64_t ranks, bool has_optimizer) {
  config.check();
  std::int64_t steps = config.gradient_accumulation_steps.value_or(1);
  if (config.train_batch_size || config.train_micro_batch_size_per_gpu)
    steps = config.batch_sizes(ranks).gradient_accumulation_steps;
  if (steps < 1)
    raise(ErrorKind::value_error, setup_source,
          "expected at least 1 gradient accumulation step, got {}", steps);
  config.gradient_accumulation_steps = steps;
  const ZeroOptimization& zero = config.zero_optimization;
  if (!has_optimizer && zero.stage != 0 && zero.stage != 3)
    raise(ErrorKind::assertion_error, setup_source, "zero stage {} requires an optimizer",
          zero.stage);
  if (!config.managed_gradient_accumulation && zero.stage < 2 && zero.overlaps())
    refuse_key("managed_gradient_accumulation", "true with overlap_comm", zero);
  check_param_dtype(config);
  check_stage(config);
  check_reduction(config);
  return config;
}

void convert_module(nn::Module& module, const Config& config) {
  if (!config.fp16.enabled && !config.bf16.enabled) return;
  DType dtype = model_dtype(config);
  for (const auto& [name, parameter] : module.named_parameters())
    if (parameter.dtype() != dtype) return module.to(dtype);
}

namespace {

using Tensors = std::vector<Tensor>;

std::unique_ptr<optim::Optimizer> make_adam(const Tensors& tensors, const OptimizerConfig& config) {
  bool is_decoupled = config.type == "AdamW" || config.adam_w_mode;
  return std::make_unique<optim::Adam>(
      tensors,
      optim::AdamOptions{.lr = config.lr,
                         .beta1 = config.betas[0],
                         .beta2 = config.betas[1],
                         .eps = config.eps,
                         .weight_decay = config.weight_decay,
                         .bias_correction = config.bias_correction,
                         .amsgrad = config.amsgrad,
                         .maximize = config.maximize},
      is_decoupled ? optim::WeightDecay::decoupled : optim::WeightDecay::added);
}

std::unique_ptr<optim::Optimizer> make_adagrad(const Tensors& tensors,
                                               const OptimizerConfig& config) {
  return std::make_unique<optim::Adagrad>(
      tensors, optim::AdagradOptions{.lr = config.lr,
                                     .lr_decay = config.lr_decay,
                                     .weight_decay = config.weight_decay,
                                     .initial_accumulator_value = config.initial_accumulator_value,
                                     .eps = config.eps,
                                     .maximize = config.maximize});
}

std::unique_ptr<optim::Optimizer> make_lion(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::Lion>(tensors,
                                       optim::LionOptions{.lr = config.lr,
                                                          .beta1 = config.betas[0],
                                                          .beta2 = config.betas[1],
                                                          .weight_decay = config.weight_decay});
}

std::unique_ptr<optim::Optimizer> make_rmsprop(const Tensors& tensors,
                                               const OptimizerConfig& config) {
  return std::make_unique<optim::RmsProp>(tensors,
                                          optim::RmsPropOptions{.lr = config.lr,
                                                                .alpha = config.alpha,
                                                                .eps = config.eps,
                                                                .weight_decay = config.weight_decay,
                                                                .momentum = config.momentum,
                                                                .centered = config.centered,
                                                                .maximize = config.maximize});
}

std::unique_ptr<optim::Optimizer> make_sgd(const Tensors& tensors, const OptimizerConfig& config) {
  return std::make_unique<optim::Sgd>(tensors,
                                      optim::SgdOptions{.lr = config.lr,
                                                        .momentum = config.momentum,
                                                        .dampening = config.dampening,
                                                        .weight_decay = config.weight_decay,
                                                        .nesterov = config.nesterov,
                                                        .maximize = config.maximize});
}

}  // namespace

MakeOptimizer configured_optimizer(const OptimizerConfig& config) {
  return [config](const std::vector<nn::NamedTensor>& masters) {
    Tensors tensors;
    for (const auto& [name, master] : masters) tensors.push_back(master);
    return config.type == "SGD"       ? make_sgd(tensors, config)
           : config.type == "Lion"    ? make_lion(tensors, config)
           : config.type == "Adagrad" ? make_adagrad(tensors, config)
           : config.type == "RMSprop" ? make_rmsprop(tensors, config)
                                      : make_adam(tensors, config);
  };
}

void check_optimizer(const optim::Optimizer& optimizer, const Config& config) {
  if (config.zero_optimization.stage == 0 || config.zero_allow_untested_optimizer) return;
  if (dynamic_cast<const optim::Adam*>(&optimizer) != nullptr ||
      dynamic_cast<const optim::Adagrad*>(&optimizer) != nullptr ||
      dynamic_cast<const optim::Lion*>(&optimizer) != nullptr)
    return;
  raise(ErrorKind::assertion_error, setup_source,
        "expected Adam, AdamW, Adagrad or Lion, or zero_allow_untested_optimizer to be true: this "
        "optimizer is "
        "untested with ZeRO");
}

}  // namespace simmesh::zero
