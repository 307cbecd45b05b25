#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/json_value.h"
#include "core/optim/loss_scaler.h"
#include "core/tensor/dtype.h"
#include "zero/config/scheduler_config.h"

namespace simmesh::zero {

// The fields of these structs are the keys of DeepSpeed 0.19, with its defaults. Sizes count
// elements, not bytes. docs/zero.md says what each key costs.

// OffloadDevice is where state is kept while nobody uses it: "none" is the device itself, "cpu" the
// host's memory, "nvme" files below a path.
enum class OffloadDevice : std::uint8_t { none, cpu, nvme };

// OffloadParam moves the shards of parameters off the device, in stage 3.
struct OffloadParam {
  OffloadDevice device = OffloadDevice::none;
  std::optional<std::string> nvme_path = {};
  std::int64_t buffer_count = 5;
  std::int64_t buffer_size = 100'000'000;
  std::int64_t max_in_cpu = 1'000'000'000;
  bool pin_memory = true;
};

// OffloadOptimizer moves masters, gradients and the state of the optimiser off the device.
struct OffloadOptimizer {
  OffloadDevice device = OffloadDevice::none;
  std::optional<std::string> nvme_path = {};
  std::int64_t buffer_count = 4;
  bool pin_memory = true;
  bool pipeline_read = false;
  bool pipeline_write = false;
  bool fast_init = false;
  double ratio = 1.0;  // of the tiles, in stage 3; the others stay on the device
  bool super_offload = false;
  double cpuadam_cores_perc = 0.8;
};

// is_offloaded is true if a section asks for another device.
template <class Offload>
bool is_offloaded(const std::optional<Offload>& offload) {
  return offload && offload->device != OffloadDevice::none;
}

// LeafModule names modules that stage 3 fetches as one: by class, by dotted name, or by the end of
// the name. Each name must match a module, except DeepSpeed's defaults.
struct LeafModule {
  // Classes of Hugging Face's transformers.
  static const std::vector<std::string>& default_classes();

  std::vector<std::string> classes = default_classes();
  std::vector<std::string> names = {};
  std::vector<std::string> name_suffixes = {};
};

// ZeroOptimization is the section zero_optimization. Keys of stage 3 have their names without the
// prefix stage3_.
struct ZeroOptimization {
  std::int64_t stage = 0;

  // All stages.
  bool contiguous_gradients = true;
  bool reduce_scatter = true;
  std::int64_t reduce_bucket_size = 500'000'000;
  // Reduction on a side stream; by default in stage 3 only.
  std::optional<bool> overlap_comm = {};
  bool overlaps() const { return overlap_comm.value_or(stage == 3); }

  // Stages 1 and 2.
  bool use_multi_rank_bucket_allreduce = true;
  bool allgather_partitions = true;
  std::int64_t allgather_bucket_size = 500'000'000;
  bool load_from_fp32_weights = true;
  bool elastic_checkpoint = false;
  bool ignore_unused_parameters = true;
  bool legacy_stage1 = false;
  bool round_robin_gradients = false;
  bool parameter_alignment = false;
  bool compute_grad_norm = true;

  // Stage 3.
  std::int64_t sub_group_size = 1'000'000'000;
  std::int64_t prefetch_bucket_size = 50'000'000;
  std::int64_t param_persistence_threshold = 100'000;
  std::int64_t model_persistence_threshold = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_live_parameters = 1'000'000'000;
  std::int64_t max_reuse_distance = 1'000'000'000;
  std::int64_t module_granularity_threshold = 0;
  bool use_all_reduce_for_fetch_params = false;
  bool allgather_sequential = false;
  bool adaptive_prefetch_bucket = false;  // ours, asked for in DeepSpeed's issue 8193
  bool gather_16bit_weights_on_model_save = false;
  bool memory_efficient_linear = true;
  bool override_module_apply = true;
  bool pipeline_loading_checkpoint = false;
  bool log_trace_cache_warnings = false;
  bool enable_sanity_checks = false;
  bool save_muon_momentum_buffer_in_memory = false;
  LeafModule leaf_module = {};

  // ZeRO++.
  std::int64_t zero_hpz_partition_size = 1;
  bool zero_quantized_weights = false;
  bool zero_quantized_nontrainable_weights = false;
  bool zero_quantized_gradients = false;

  // Offload. An absent section is one with the device "none".
  std::optional<OffloadParam> offload_param = {};
  std::optional<OffloadOptimizer> offload_optimizer = {};
};

// Fp16 is the section fp16: training of a float16 model, with a loss scale.
struct Fp16 {
  bool enabled = false;
  bool auto_cast = false;   // the engine casts floating inputs to float16, whatever enabled is
  double loss_scale = 0.0;  // a fixed scale; 0 is one that grows and falls
  std::int64_t initial_scale_power = 16;
  std::int64_t loss_scale_window = 1000;
  std::int64_t hysteresis = 2;
  bool consecutive_hysteresis = false;
  std::int64_t min_loss_scale = 1;
  bool fp16_master_weights_and_grads = false;  // masters are float16; see Bf16

  // scaler returns the options of the loss scaler.
  optim::LossScaler::Options scaler() const;
};

// Bf16 is the section bf16: training of a bfloat16 model.
struct Bf16 {
  bool enabled = false;
  bool immediate_grad_update = false;  // changes nothing here
  // Without the check no step is skipped: what isn't finite reaches the parameters.
  bool check_grad_overflow = true;
  // Masters, and the gradients by which they are updated, are bfloat16, in stages 1 to 3. With
  // offload_optimizer the state of Adam stays float32, unless bf16_optimizer_states is set; without
  // the offload, which is possible with bf16_optimizer_states only, it has the dtype of the
  // masters.
  bool bf16_master_weights_and_grads = false;
  bool bf16_optimizer_states = false;
};

// TorchAutocast is the section torch_autocast: forward runs under autocast (core/autograd), and the
// gradients of modules that are safe in the lower dtype are reduced in it, as is what stage 3
// gathers of them for forward and backward.
struct TorchAutocast {
  bool enabled = false;
  // bfloat16 or float16; float32 lowers nothing. Without a dtype forward is in bfloat16, as on
  // PyTorch's CPU, and communication isn't lowered.
  std::optional<DType> dtype = {};
  // Dotted names of classes, of which the last part counts; by default torch.nn's Linear and
  // convolutions.
  std::optional<std::vector<std::string>> lower_precision_safe_modules = {};

  // forward_dtype returns the dtype of autocast, nullopt where it is off.
  std::optional<DType> forward_dtype() const;
};

// DataTypes is the section data_types. By default gradients are kept over micro-batches in the
// dtype of the parameters; stage 0 keeps them in float32.
struct DataTypes {
  std::optional<DType> grad_accum_dtype = {};
  std::optional<DType> param_dtype = {};  // must be the one that fp16 and bf16 ask for
  // Floating buffers of the module are converted to it; by default they keep their dtype.
  std::optional<DType> buffer_dtype = {};
  // Patterns of names of buffers that are float32 in a 16-bit model: "*" stands for any letters,
  // and a pattern may match anywhere. Without it a file has "auto", which means none here: modules
  // don't name any.
  std::optional<std::vector<std::string>> keep_in_fp32_modules = {};
};

// Aio is the section aio. Only the size of blocks has an effect here.
struct Aio {
  std::int64_t block_size = 1 << 20;  // bytes

  // file_bytes_min returns the bytes below which a tensor isn't worth a file: 1 MiB, or a block.
  std::int64_t file_bytes_min() const;
};

// OptimizerConfig is the section optimizer: an optimiser by name, such as "AdamW", and its params;
// each type reads its own (zero/config/optimizer_types.h). In DeepSpeed, Adam decouples weight
// decay too, unless adam_w_mode is off. torch_adam takes PyTorch's class, which has AMSGrad.
struct OptimizerConfig {
  std::string type = "AdamW";
  bool adam_w_mode = true;
  bool torch_adam = false;
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool bias_correction = true;
  bool fp32_optimizer_states = true;  // where it is offloaded, with masters of 16 bits
  bool amsgrad = false;
  bool maximize = false;
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  double lr_decay = 0.0;
  double initial_accumulator_value = 0.0;
  double alpha = 0.99;
  bool centered = false;
  double rho = 0.9;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  std::array<double, 2> etas = {0.5, 1.2};
  std::array<double, 2> step_sizes = {1e-6, 50.0};
  double lambd = 1e-4;
  double t0 = 1e6;
  double beta2_decay = -0.8;
  // The eps of Adafactor, a pair in a file; without the first it is the epsilon of the dtype.
  std::optional<double> eps1 = {};
  double eps2 = 1e-3;
  double d = 1.0;
  bool eps_inside_sqrt = false;
  double max_coeff = 10.0;
  double min_coeff = 0.01;
  std::string ns_method = "gram";
  // The learning rates of Muon's two halves; in a file both may be given as lr.
  double muon_lr = 0.02;
  double adam_lr = 3e-4;
};

// BatchSizes are three numbers that belong together: train_batch_size =
// train_micro_batch_size_per_gpu * gradient_accumulation_steps * ranks.
struct BatchSizes {
  std::int64_t train_batch_size = 1;
  std::int64_t train_micro_batch_size_per_gpu = 1;
  std::int64_t gradient_accumulation_steps = 1;
};

// AutoValues are the values that "auto" stands for in a file, as Hugging Face's trainer fills them
// in. A value that follows from the file needs none; see zero/config/config_autos.h.
struct AutoValues {
  std::optional<std::int64_t> train_batch_size = {};
  std::optional<std::int64_t> train_micro_batch_size_per_gpu = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::optional<double> gradient_clipping = {};
  std::optional<bool> fp16 = {};
  std::optional<bool> bf16 = {};
  std::optional<double> lr = {};
  std::optional<double> weight_decay = {};
  std::optional<std::array<double, 2>> betas = {};
  std::optional<double> eps = {};
  std::optional<std::int64_t> hidden_size = {};
  std::optional<std::int64_t> warmup_num_steps = {};
  std::optional<std::int64_t> total_num_steps = {};
};

// Config is a configuration of DeepSpeed.
//
//   zero::Config config{.gradient_accumulation_steps = 4,
//                       .gradient_clipping = 1.0,
//                       .zero_optimization = {.stage = 2, .reduce_bucket_size = 4096}};
struct Config {
  // Missing ones follow from the others; see batch_sizes.
  std::optional<std::int64_t> train_batch_size = {};
  std::optional<std::int64_t> train_micro_batch_size_per_gpu = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  // Without management each call of the engine's step is a boundary of gradient accumulation.
  bool managed_gradient_accumulation = true;
  // The largest norm of the gradients; 0 clips nothing.
  double gradient_clipping = 1.0;
  bool prescale_gradients = false;
  double gradient_predivide_factor = 1.0;
  std::optional<DType> communication_data_type = {};  // by default that of the gradients
  bool zero_allow_untested_optimizer = false;
  Fp16 fp16 = {};
  Bf16 bf16 = {};
  TorchAutocast torch_autocast = {};
  DataTypes data_types = {};
  ZeroOptimization zero_optimization = {};
  Aio aio = {};
  std::optional<OptimizerConfig> optimizer = {};
  std::optional<SchedulerConfig> scheduler = {};
  // Gradients are sums over the ranks instead of means, as with gradient_allreduce_op "sum". By its
  // own name the key is ours, and works in stage 3 too: sums in exact arithmetic have the bits of
  // one device for any number of ranks.
  bool sum_gradients = false;

  // from_json reads the text of a DeepSpeed file, which is Hjson (zero/config/hjson.h), and
  // from_value what a program has in its place, such as a dict of Python. Raises an Error of the
  // class that DeepSpeed 0.19.8 raises, which names the key: unknown keys, values of a wrong type
  // or out of range. Raises ValueErrors for "auto" without a value, and for features that simmesh
  // doesn't have.
  static Config from_json(std::string_view text, const AutoValues& autos = {});
  static Config from_value(JsonValue value, const AutoValues& autos = {});
  // from_json_file reads a file; raises a ValueError if it can't be read.
  static Config from_json_file(const std::string& path, const AutoValues& autos = {});

  // to_json returns the text of a file that reads as this configuration, with every key.
  std::string to_json() const;

  // check raises as from_json does, for a configuration that a program filled in.
  void check() const;

  // loss_scaler returns the options of the loss scaler, which fp16 has, and else torch_autocast in
  // float16: that of PyTorch with its defaults.
  std::optional<optim::LossScaler::Options> loss_scaler() const;

  // batch_sizes completes the three numbers for so many ranks. Raises an AssertionError if they
  // contradict each other, or if neither train_batch_size nor train_micro_batch_size_per_gpu is
  // given.
  BatchSizes batch_sizes(std::int64_t ranks) const;
};

}  // namespace simmesh::zero
