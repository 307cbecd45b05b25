#include "zero/engine/master_dtype.h"

#include "core/check/error.h"

namespace simmesh::zero {

DType master_dtype(const Config& config) {
  if (config.fp16.fp16_master_weights_and_grads) return DType::float16;
  return config.bf16.bf16_master_weights_and_grads ? DType::bfloat16 : DType::float32;
}

bool has_float32_state(const Config& config) {
  if (master_dtype(config) == DType::float32) return true;
  bool asks = !config.optimizer || config.optimizer->fp32_optimizer_states;
  return is_offloaded(config.zero_optimization.offload_optimizer) &&
         !config.bf16.bf16_optimizer_states && asks;
}

void check_masters(const Config& config, bool is_adam) {
  bool is_half = config.fp16.fp16_master_weights_and_grads;
  bool is_brain = config.bf16.bf16_master_weights_and_grads;
  const ZeroOptimization& zero = config.zero_optimization;
  bool offloads = is_offloaded(zero.offload_optimizer);
  if (is_half && is_brain)
    raise(ErrorKind::assertion_error, "zero/engine",
          "expected fp16.fp16_master_weights_and_grads or bf16.bf16_master_weights_and_grads, got "
          "both, which are mutually exclusive");
  bool needs_offload = is_half || (is_brain && (!config.bf16.bf16_optimizer_states || offloads));
  bool is_torchs = config.optimizer && config.optimizer->torch_adam;
  if (!needs_offload || (offloads && is_adam && !is_torchs)) return;
  raise(ErrorKind::assertion_error, "zero/engine",
        "{}: Master weights feature requires ZeRO-{} Offload with DeepSpeedCPUAdam: expected "
        "offload_optimizer and Adam, got {}",
        is_half ? "fp16.fp16_master_weights_and_grads" : "bf16.bf16_master_weights_and_grads",
        zero.stage, offloads ? "another optimizer" : "no offload");
}

}  // namespace simmesh::zero
