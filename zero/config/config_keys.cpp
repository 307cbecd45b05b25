#include "zero/config/config_keys.h"

#include <algorithm>
#include <cctype>

#include "core/check/error.h"
#include "zero/config/config_untyped.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view keys_source = "zero/config";

// A key that also has a name with the prefix stage3_.
template <class T>
ConfigKey<ZeroOptimization> key3(const std::string& name, T ZeroOptimization::*field,
                                 ConfigBounds bounds = not_negative) {
  ConfigKey<ZeroOptimization> result = key(name, field, bounds);
  result.alias = "stage3_" + name;
  return result;
}

ConfigKey<ZeroOptimization> stage_key() {
  auto read = [](const ConfigValue& value, ZeroOptimization& zero) {
    try {
      read_value(value, not_negative, zero.stage);
      if (zero.stage <= 3) return;
    } catch (const Error&) {
      // The message is the same for every value that isn't a stage.
    }
    raise(ErrorKind::value_error, keys_source, "{}: expected 0, 1, 2 or 3, got {}", value.path,
          value.json.text(80));
  };
  return {.name = "stage", .read = read, .write = [](const ZeroOptimization& zero) {
            return JsonValue(zero.stage);
          }};
}

// A key that DeepSpeed takes from the file as it is.
template <class T>
ConfigKey<Config> plain_key(const std::string& name, T Config::*field, ConfigBounds bounds = {}) {
  ConfigKey<Config> result = key(name, field, bounds);
  result.read = [field, bounds](const ConfigValue& value, Config& config) {
    read_plain(value, config.*field);
    if (!value.json.is_null()) {
      T checked;
      read_field(value, bounds, checked);
    }
  };
  return result;
}

ConfigKey<DataTypes> keep_in_fp32_key() {
  auto read = [](const ConfigValue& value, DataTypes& types) {
    types.keep_in_fp32_modules.reset();
    if (!value.json.is_text("auto")) read_value(value, {}, types.keep_in_fp32_modules.emplace());
  };
  return {.name = "keep_in_fp32_modules", .read = read, .write = [](const DataTypes& types) {
            return types.keep_in_fp32_modules ? written(*types.keep_in_fp32_modules)
                                              : JsonValue("auto");
          }};
}

ConfigKey<Config> allreduce_op_key() {
  auto read = [](const ConfigValue& value, Config& config) {
    std::string word = value.json.is_null() ? "" : value.json.text();
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    if (word != "\"mean\"" && word != "\"sum\"")
      raise(ErrorKind::value_error, keys_source, "{}: expected 'mean' or 'sum', got {}", value.path,
            value.json.text(80));
    if (word == "\"sum\"") config.sum_gradients = true;
  };
  return {.name = "gradient_allreduce_op", .read = read, .write = [](const Config& config) {
            return JsonValue(config.sum_gradients ? "sum" : "mean");
          }};
}

// In the order of DeepSpeed's class, in which errors are found.
std::vector<ConfigKey<ZeroOptimization>> zero_keys() {
  using Zero = ZeroOptimization;
  ConfigKey<Zero> gather_on_save =
      key3("gather_16bit_weights_on_model_save", &Zero::gather_16bit_weights_on_model_save);
  gather_on_save.old_name = "stage3_gather_fp16_weights_on_model_save";
  return {
      stage_key(),
      key("contiguous_gradients", &Zero::contiguous_gradients),
      key("reduce_scatter", &Zero::reduce_scatter),
      key("reduce_bucket_size", &Zero::reduce_bucket_size, above_zero),
      key("use_multi_rank_bucket_allreduce", &Zero::use_multi_rank_bucket_allreduce),
      key("allgather_partitions", &Zero::allgather_partitions),
      key("allgather_bucket_size", &Zero::allgather_bucket_size, not_negative),
      key("overlap_comm", &Zero::overlap_comm),
      key("compute_grad_norm", &Zero::compute_grad_norm),
      key("load_from_fp32_weights", &Zero::load_from_fp32_weights),
      key("elastic_checkpoint", &Zero::elastic_checkpoint),
      key("offload_param", &Zero::offload_param),
      key("offload_optimizer", &Zero::offload_optimizer),
      key("sub_group_size", &Zero::sub_group_size, not_negative),
      key3("prefetch_bucket_size", &Zero::prefetch_bucket_size),
      key3("param_persistence_threshold", &Zero::param_persistence_threshold),
      key3("model_persistence_threshold", &Zero::model_persistence_threshold),
      key3("max_live_parameters", &Zero::max_live_parameters),
      key3("max_reuse_distance", &Zero::max_reuse_distance),
      std::move(gather_on_save),
      key3("module_granularity_threshold", &Zero::module_granularity_threshold, {}),
      key3("use_all_reduce_for_fetch_params", &Zero::use_all_reduce_for_fetch_params),
      key3("allgather_sequential", &Zero::allgather_sequential),
      key3("adaptive_prefetch_bucket", &Zero::adaptive_prefetch_bucket),
      key("ignore_unused_parameters", &Zero::ignore_unused_parameters),
      key("legacy_stage1", &Zero::legacy_stage1),
      key("round_robin_gradients", &Zero::round_robin_gradients),
      key("parameter_alignment", &Zero::parameter_alignment),
      key("zero_hpz_partition_size", &Zero::zero_hpz_partition_size, not_negative),
      key("zero_quantized_weights", &Zero::zero_quantized_weights),
      key("zero_quantized_nontrainable_weights", &Zero::zero_quantized_nontrainable_weights),
      key("zero_quantized_gradients", &Zero::zero_quantized_gradients),
      key("memory_efficient_linear", &Zero::memory_efficient_linear),
      key("pipeline_loading_checkpoint", &Zero::pipeline_loading_checkpoint),
      key("override_module_apply", &Zero::override_module_apply),
      key("log_trace_cache_warnings", &Zero::log_trace_cache_warnings),
      key("enable_sanity_checks", &Zero::enable_sanity_checks),
      key("save_muon_momentum_buffer_in_memory", &Zero::save_muon_momentum_buffer_in_memory),
      key("leaf_module", &Zero::leaf_module),
  };
}

}  // namespace

template <>
const std::vector<ConfigKey<ZeroOptimization>>& config_keys() {
  static const std::vector<ConfigKey<ZeroOptimization>> keys = zero_keys();
  return keys;
}

template <>
const std::vector<ConfigKey<OffloadParam>>& config_keys() {
  static const std::vector<ConfigKey<OffloadParam>> keys = {
      key("device", &OffloadParam::device),
      key("nvme_path", &OffloadParam::nvme_path),
      key("buffer_count", &OffloadParam::buffer_count, not_negative),
      key("buffer_size", &OffloadParam::buffer_size, not_negative),
      key("max_in_cpu", &OffloadParam::max_in_cpu, not_negative),
      key("pin_memory", &OffloadParam::pin_memory),
  };
  return keys;
}

template <>
const std::vector<ConfigKey<OffloadOptimizer>>& config_keys() {
  using Offload = OffloadOptimizer;
  constexpr ConfigBounds a_part{.min = 0, .max = 1};
  static const std::vector<ConfigKey<Offload>> keys = {
      key("device", &Offload::device),
      key("nvme_path", &Offload::nvme_path),
      key("buffer_count", &Offload::buffer_count, not_negative),
      key("pin_memory", &Offload::pin_memory),
      key("pipeline_read", &Offload::pipeline_read),
      key("pipeline_write", &Offload::pipeline_write),
      key("fast_init", &Offload::fast_init),
      key("ratio", &Offload::ratio, a_part),
      key("super_offload", &Offload::super_offload),
      key("cpuadam_cores_perc", &Offload::cpuadam_cores_perc, a_part),
  };
  return keys;
}

template <>
const std::vector<ConfigKey<LeafModule>>& config_keys() {
  static const std::vector<ConfigKey<LeafModule>> keys = {
      key("classes", &LeafModule::classes),
      key("names", &LeafModule::names),
      key("name_suffixes", &LeafModule::name_suffixes),
  };
  return keys;
}

template <>
const std::vector<ConfigKey<Fp16>>& config_keys() {
  static const std::vector<ConfigKey<Fp16>> keys = {
      key("enabled", &Fp16::enabled),
      key("auto_cast", &Fp16::auto_cast),
      key("loss_scale", &Fp16::loss_scale, not_negative),
      key("initial_scale_power", &Fp16::initial_scale_power),
      key("loss_scale_window", &Fp16::loss_scale_window),
      key("hysteresis", &Fp16::hysteresis),
      key("consecutive_hysteresis", &Fp16::consecutive_hysteresis),
      key("min_loss_scale", &Fp16::min_loss_scale),
      key("fp16_master_weights_and_grads", &Fp16::fp16_master_weights_and_grads),
  };
  return keys;
}

template <>
const std::vector<ConfigKey<Bf16>>& config_keys() {
  static const std::vector<ConfigKey<Bf16>> keys = {
      key("enabled", &Bf16::enabled),
      key("immediate_grad_update", &Bf16::immediate_grad_update),
      key("check_grad_overflow", &Bf16::check_grad_overflow),
      key("bf16_master_weights_and_grads", &Bf16::bf16_master_weights_and_grads),
      key("bf16_optimizer_states", &Bf16::bf16_optimizer_states),
  };
  return keys;
}

template <>
const std::vector<ConfigKey<DataTypes>>& config_keys() {
  static const std::vector<ConfigKey<DataTypes>> keys = {
      key("grad_accum_dtype", &DataTypes::grad_accum_dtype),
      key("param_dtype", &DataTypes::param_dtype), key("buffer_dtype", &DataTypes::buffer_dtype),
      keep_in_fp32_key()};
  return keys;
}

template <>
const std::vector<ConfigKey<Aio>>& config_keys() {
  static const std::vector<ConfigKey<Aio>> keys = {key("block_size", &Aio::block_size, above_zero)};
  return keys;
}

template <>
const std::vector<ConfigKey<OptimizerConfig>>& config_keys() {
  static const std::vector<ConfigKey<OptimizerConfig>> keys = {
      key("adam_w_mode", &OptimizerConfig::adam_w_mode),
      key("torch_adam", &OptimizerConfig::torch_adam),
      key("lr", &OptimizerConfig::lr, not_negative),
      key("betas", &OptimizerConfig::betas, not_negative),
      key("eps", &OptimizerConfig::eps, not_negative),
      key("weight_decay", &OptimizerConfig::weight_decay, not_negative),
      key("bias_correction", &OptimizerConfig::bias_correction),
      key("fp32_optimizer_states", &OptimizerConfig::fp32_optimizer_states),
      key("amsgrad", &OptimizerConfig::amsgrad),
      key("maximize", &OptimizerConfig::maximize),
      key("momentum", &OptimizerConfig::momentum, not_negative),
      key("dampening", &OptimizerConfig::dampening),
      key("nesterov", &OptimizerConfig::nesterov),
      key("lr_decay", &OptimizerConfig::lr_decay, not_negative),
      key("initial_accumulator_value", &OptimizerConfig::initial_accumulator_value, not_negative),
      key("alpha", &OptimizerConfig::alpha, not_negative),
      key("centered", &OptimizerConfig::centered),
      key("rho", &OptimizerConfig::rho, not_negative),
      key("momentum_decay", &OptimizerConfig::momentum_decay, not_negative),
      key("decoupled_weight_decay", &OptimizerConfig::decoupled_weight_decay),
      key("etas", &OptimizerConfig::etas),
      key("step_sizes", &OptimizerConfig::step_sizes),
      key("lambd", &OptimizerConfig::lambd, not_negative),
      key("t0", &OptimizerConfig::t0),
      key("beta2_decay", &OptimizerConfig::beta2_decay),
      key("d", &OptimizerConfig::d),
      key("eps_inside_sqrt", &OptimizerConfig::eps_inside_sqrt),
      key("max_coeff", &OptimizerConfig::max_coeff),
      key("min_coeff", &OptimizerConfig::min_coeff),
      key("ns_method", &OptimizerConfig::ns_method),
      key("muon_lr", &OptimizerConfig::muon_lr, not_negative),
      key("adam_lr", &OptimizerConfig::adam_lr, not_negative),
  };
  return keys;
}

template <>
const std::vector<ConfigKey<Config>>& config_keys() {
  static const std::vector<ConfigKey<Config>> keys = {
      plain_key("train_batch_size", &Config::train_batch_size),
      plain_key("train_micro_batch_size_per_gpu", &Config::train_micro_batch_size_per_gpu),
      plain_key("gradient_accumulation_steps", &Config::gradient_accumulation_steps),
      plain_key("managed_gradient_accumulation", &Config::managed_gradient_accumulation),
      plain_key("communication_data_type", &Config::communication_data_type),
      plain_key("prescale_gradients", &Config::prescale_gradients),
      plain_key("gradient_predivide_factor", &Config::gradient_predivide_factor, above_zero),
      allreduce_op_key(),
      plain_key("gradient_clipping", &Config::gradient_clipping, not_negative),
      plain_key("zero_allow_untested_optimizer", &Config::zero_allow_untested_optimizer),
      key("sum_gradients", &Config::sum_gradients),
  };
  return keys;
}

}  // namespace simmesh::zero
