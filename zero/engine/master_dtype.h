#pragma once

#include "core/tensor/dtype.h"
#include "zero/config/config.h"

namespace simmesh::zero {

// master_dtype returns the dtype of masters and of the gradients by which they are updated:
// float32, unless fp16_master_weights_and_grads or bf16_master_weights_and_grads is set.
DType master_dtype(const Config& config);

// has_float32_state is true where the state of Adam is float32 whatever its masters are:
// DeepSpeed's CPU Adam, which updates what is offloaded, keeps it so unless bf16_optimizer_states
// is set or fp32_optimizer_states is off.
bool has_float32_state(const Config& config);

// check_masters raises an AssertionError for masters of 16 bits without the offload to the host
// that they need in DeepSpeed: always, but for those of bfloat16 with bf16_optimizer_states. The
// optimiser must then be Adam.
void check_masters(const Config& config, bool is_adam);

}  // namespace simmesh::zero
