#include "zero/engine/config_cost.h"

#include <algorithm>
#include <fmt/format.h>

#include "zero/engine/master_dtype.h"

namespace simmesh::zero {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

std::int64_t ConfigCost::element_bytes() const {
  return config_.fp16.enabled || config_.bf16.enabled ? 2 : 4;
}

std::int64_t ConfigCost::gradient_bytes() const {
  if (config_.zero_optimization.stage == 0) return 4;
  const auto& dtype = config_.data_types.grad_accum_dtype;
  return dtype ? std::int64_t(bytes_per_element(*dtype)) : element_bytes();
}

std::optional<std::int64_t> ConfigCost::state_tensors() const {
  if (!config_.optimizer) return {};
  const OptimizerConfig& optimizer = *config_.optimizer;
  if (optimizer.type == "SGD") return optimizer.momentum == 0 ? 0 : 1;
  if (optimizer.type == "RMSprop")
    return 1 + (optimizer.centered ? 1 : 0) + (optimizer.momentum > 0 ? 1 : 0);
  if (optimizer.type == "Adagrad" || optimizer.type == "Lion" || optimizer.type == "ASGD") return 1;
  // The state depends on the shapes of the parameters.
  if (optimizer.type == "Adafactor" || optimizer.type == "Muon") return {};
  return optimizer.amsgrad ? 3 : 2;
}

std::string ConfigCost::bytes_of(std::int64_t bytes, bool is_shared) const {
  std::string text = fmt::format("{} P{}", bytes, is_shared ? " / W" : "");
  if (!parameters_) return text + " bytes";
  double value = double(bytes) * double(is_shared ? ceil_div(*parameters_, ranks_) : *parameters_);
  return fmt::format("{} = {:.0f} bytes", text, value);
}

std::string ConfigCost::calls_of(std::int64_t times, std::int64_t size) const {
  std::string text =
      times == 1 ? fmt::format("ceil(P / {})", size) : fmt::format("{} ceil(P / {})", times, size);
  if (!parameters_) return text;
  return fmt::format("{} = {:.0f}", text, double(times) * double(ceil_div(*parameters_, size)));
}

std::string ConfigCost::of_stage() const {
  std::int64_t stage = config_.zero_optimization.stage;
  std::string text = "parameters " + bytes_of(element_bytes(), stage == 3);
  // Masters of the parameters' dtype are the parameters, but for the flat slices of stages 1, 2.
  std::int64_t master = std::int64_t(bytes_per_element(master_dtype(config_)));
  if (element_bytes() != master || stage == 1 || stage == 2)
    text += ", masters " + bytes_of(master, stage > 0);
  text += ", gradients " + bytes_of(stage == 1 ? element_bytes() : gradient_bytes(), stage > 1);
  if (auto tensors = state_tensors())
    text += ", state of the optimizer " +
            bytes_of((has_float32_state(config_) ? 4 : 2) * *tensors, stage > 0);
  return text;
}

std::string ConfigCost::of_whole_steps() const {
  const std::string& type = config_.optimizer->type;
  if (config_.zero_optimization.stage == 0) return {};
  if (type == "Muon") return "one all-gather a matrix a step, of master, gradient and momentum";
  if (type != "Lamb" && type != "Adafactor") return {};
  return "one all-gather a parameter a step, of master, gradient and elementwise state";
}

std::string ConfigCost::of_buckets() const {
  const ZeroOptimization& zero = config_.zero_optimization;
  std::int64_t size = zero.reduce_bucket_size;
  std::int64_t steps = zero.stage == 1 ? 1 : config_.gradient_accumulation_steps.value_or(1);
  if (zero.stage == 0) return "nothing in stage 0, which all-reduces each gradient";
  std::int64_t held = parameters_ ? std::min(size, *parameters_) : size;
  std::string text =
      fmt::format("{} {} a step", calls_of(steps, size),
                  zero.stage == 3 && zero.reduce_scatter ? "reduce-scatters" : "all-reduces");
  if (zero.contiguous_gradients)
    text += fmt::format(", buffer of up to {:.0f} bytes",
                        double(held) * double(element_bytes()) * (zero.overlaps() ? 2 : 1));
  return text;
}

std::string ConfigCost::of_autocast() const {
  const TorchAutocast& autocast = config_.torch_autocast;
  auto forward = autocast.forward_dtype();
  if (!forward) return {};
  std::int64_t stage = config_.zero_optimization.stage;
  std::string text = fmt::format("forward in {}", to_string(*forward));
  if (!autocast.dtype || stage == 0) return text;
  text +=
      "; gradients of the safe modules are reduced in 2 bytes an element, in buckets of their own";
  if (stage == 3) text += ", and their parameters gathered in 2 bytes";
  return text;
}

std::string ConfigCost::of_stage3(const std::string& name) const {
  const ZeroOptimization& zero = config_.zero_optimization;
  if (zero.stage != 3) return {};
  double bytes = double(element_bytes());
  if (name == "sub_group_size") {
    std::int64_t tile = zero.sub_group_size;
    std::string calls = tile > 0 ? calls_of(1, tile) : std::string("one a parameter");
    return fmt::format("tiles and all-reduces of 8 bytes a step: {}", calls);
  }
  if (name == "prefetch_bucket_size")
    return fmt::format("up to {:.0f} bytes gathered ahead",
                       bytes * double(zero.prefetch_bucket_size));
  if (name == "param_persistence_threshold")
    return fmt::format(
        "parameters up to {:.0f} bytes stay whole, one blocking all-gather each a step",
        bytes * double(zero.param_persistence_threshold));
  if (name == "max_live_parameters")
    return fmt::format("prefetching stops at {:.0f} live bytes",
                       bytes * double(zero.max_live_parameters));
  if (name == "max_reuse_distance")
    return fmt::format("up to {:.0f} bytes kept for their next use",
                       bytes * double(zero.max_reuse_distance));
  if (name == "zero_hpz_partition_size" && zero.zero_hpz_partition_size > 1)
    return fmt::format("second shard {} P / {}", element_bytes(), zero.zero_hpz_partition_size);
  if (name == "use_all_reduce_for_fetch_params" && zero.use_all_reduce_for_fetch_params)
    return "gathers of several parameters by all-reduce, of twice the bytes on the wire";
  if (name == "allgather_sequential" && zero.allgather_sequential)
    return "one all-gather a parameter";
  return {};
}

std::string ConfigCost::of_offload(const std::string& name) const {
  const ZeroOptimization& zero = config_.zero_optimization;
  auto place = [](OffloadDevice device) {
    return device == OffloadDevice::nvme ? "files" : "the host's memory";
  };
  if (name == "offload_optimizer.device" && is_offloaded(zero.offload_optimizer))
    return fmt::format("masters, reduced gradients and state are in {}, not on the device",
                       place(zero.offload_optimizer->device));
  if (name == "offload_param.device" && is_offloaded(zero.offload_param))
    return fmt::format("shards of parameters are in {}, not on the device",
                       place(zero.offload_param->device));
  return {};
}

std::string ConfigCost::of(const std::string& path) const {
  const ZeroOptimization& zero = config_.zero_optimization;
  const std::string prefix = "zero_optimization.";
  bool is_flat = zero.stage == 1 || zero.stage == 2;
  if (path == prefix + "stage") return of_stage();
  if (path == "optimizer.type") return of_whole_steps();
  if (path == prefix + "reduce_bucket_size") return of_buckets();
  if (path == prefix + "compute_grad_norm" && is_flat && zero.compute_grad_norm)
    return "one all-reduce of 4 bytes a step";
  if (path == prefix + "parameter_alignment" && is_flat && zero.parameter_alignment)
    return "up to 15 bytes of padding a parameter";
  if (path == prefix + "allgather_bucket_size" && is_flat)
    return "nothing: one all-gather a group of the optimizer a step";
  if (path == "torch_autocast.enabled") return of_autocast();
  if (path == "fp16.enabled" && config_.fp16.enabled && zero.stage == 3)
    return "one all-reduce of a byte a step";
  if (path == "bf16.check_grad_overflow" && config_.bf16.enabled && is_flat &&
      config_.bf16.check_grad_overflow)
    return "one all-reduce of a byte a step";
  if (!path.starts_with(prefix)) return {};
  std::string name = path.substr(prefix.size()), offload = of_offload(name);
  return offload.empty() ? of_stage3(name) : offload;
}

}  // namespace simmesh::zero
