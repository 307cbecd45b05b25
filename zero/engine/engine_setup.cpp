#include "zero/engine/engine_setup.h"

#include "core/check/error.h"
#include "core/optim/adagrad.h"
#include "core/optim/adam.h"
#include "core/optim/lion.h"
#include "core/optim/muon.h"
#include "core/tensor/convert.h"
#include "zero/engine/master_dtype.h"

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

void check_autocast(const Config& config) {
  const TorchAutocast& autocast = config.torch_autocast;
  if (!autocast.enabled) return;
  if (config.zero_optimization.zero_quantized_weights)
    refuse_key("zero_optimization.zero_quantized_weights", "false with torch_autocast",
               config.zero_optimization);
  if (!autocast.lower_precision_safe_modules) return;
  for (const std::string& name : *autocast.lower_precision_safe_modules)
    if (name.find('.') == std::string::npos)
      raise(ErrorKind::value_error, setup_source,
            "torch_autocast.lower_precision_safe_modules: expected a list of dotted names of "
            "classes, such as torch.nn.Linear, got {}",
            name);
}

// Returns the class that DeepSpeed puts around the optimiser; empty where there is none.
std::string optimizer_wrapper(const Config& config) {
  const ZeroOptimization& zero = config.zero_optimization;
  if (zero.stage == 3) return "DeepSpeedZeroOptimizer_Stage3";
  bool adds_up_wide = config.data_types.grad_accum_dtype == DType::float32;
  if (zero.stage == 1 && config.bf16.enabled && adds_up_wide &&
      !is_offloaded(zero.offload_optimizer))
    return "BF16_Optimizer";
  if (zero.stage > 0) return "DeepSpeedZeroOptimizer";
  if (model_dtype(config) == DType::float32) return "";
  const auto& optimizer = config.optimizer;
  bool is_fused = optimizer && !optimizer->torch_adam &&
                  (optimizer->type == "Adam" || optimizer->type == "AdamW");
  return is_fused ? "FP16_Optimizer" : "FP16_UnfusedOptimizer";
}

// The schedulers of PyTorch refuse what isn't an optimiser of PyTorch's.
void check_scheduler(const Config& config) {
  std::string wrapper = optimizer_wrapper(config);
  if (is_torch_scheduler(*config.scheduler) && !wrapper.empty())
    raise(ErrorKind::type_error, setup_source,
          "scheduler.type: expected a scheduler of DeepSpeed, or stage 0 in float32: {} is not an "
          "Optimizer",
          wrapper);
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
  check_autocast(config);
  check_stage(config);
  check_reduction(config);
  if (config.scheduler) check_scheduler(config);
  return config;
}

namespace {

// Converts parameters and leaves buffers as they are.
void convert_parameters(nn::Module& module, DType dtype) {
  bool is_converted = true;
  for (const auto& [name, parameter] : module.named_parameters())
    is_converted = is_converted && parameter.dtype() == dtype;
  if (is_converted) return;
  std::vector<std::vector<nn::ParameterSlot>> kept;
  for (const auto& [path, part] : module.named_modules()) kept.push_back(part->buffers());
  module.to(dtype);
  auto buffers = kept.begin();
  for (const auto& [path, part] : module.named_modules()) part->buffers() = *buffers++;
}

// True if the parts of a pattern between its stars are in a name, one after another.
bool matches_name(std::string_view pattern, std::string_view name) {
  for (std::size_t place = 0;;) {
    std::size_t star = pattern.find('*');
    place = name.find(pattern.substr(0, star), place);
    if (place == name.npos || star == pattern.npos) return place != name.npos;
    place += star;
    pattern.remove_prefix(star + 1);
  }
}

void convert_buffers(nn::Module& module, const Config& config) {
  const DataTypes& types = config.data_types;
  bool is_16_bit = config.fp16.enabled || config.bf16.enabled;
  auto stays = [&](const std::string& name) {
    if (!is_16_bit || !types.keep_in_fp32_modules) return false;
    for (const std::string& pattern : *types.keep_in_fp32_modules)
      if (matches_name(pattern, name)) return true;
    return false;
  };
  for (const auto& [path, part] : module.named_modules())
    for (nn::ParameterSlot& slot : part->buffers()) {
      if (!slot.tensor.is_defined() || !is_floating_point(slot.tensor.dtype())) continue;
      bool is_kept = stays(path.empty() ? slot.name : path + "." + slot.name);
      if (!is_kept && !types.buffer_dtype) continue;
      DType dtype = is_kept ? DType::float32 : *types.buffer_dtype;
      if (slot.tensor.dtype() != dtype)
        slot.tensor = converted(slot.tensor.detach(), dtype).clone();
    }
}

}  // namespace

void convert_module(nn::Module& module, const Config& config) {
  if (config.fp16.enabled || config.bf16.enabled) convert_parameters(module, model_dtype(config));
  convert_buffers(module, config);
}

void check_optimizer(const optim::Optimizer& optimizer, const Config& config) {
  const ZeroOptimization& zero = config.zero_optimization;
  check_masters(config, dynamic_cast<const optim::Adam*>(&optimizer) != nullptr);
  bool is_muon = dynamic_cast<const optim::Muon*>(&optimizer) != nullptr;
  if (is_muon && zero.stage == 3 && zero.reduce_scatter)
    raise(ErrorKind::value_error, setup_source,
          "zero_optimization.reduce_scatter: expected false in stage 3, Muon and reduce scatter "
          "cannot be used together");
  if (config.zero_optimization.stage == 0 || config.zero_allow_untested_optimizer) return;
  if (dynamic_cast<const optim::Adam*>(&optimizer) != nullptr ||
      dynamic_cast<const optim::Adagrad*>(&optimizer) != nullptr ||
      dynamic_cast<const optim::Lion*>(&optimizer) != nullptr || is_muon)
    return;
  raise(ErrorKind::assertion_error, setup_source,
        "expected Adam, AdamW, Adagrad, Lion or Muon, or zero_allow_untested_optimizer to be true: "
        "this optimizer is untested with ZeRO");
}

}  // namespace simmesh::zero
