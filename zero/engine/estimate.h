#pragma once

#include <cstdint>

#include "core/nn/module.h"

namespace simmesh::zero {

// EstimateOptions are the inputs of DeepSpeed's published estimators. The largest layer is the
// module whose own parameters have the most elements.
struct EstimateOptions {
  std::int64_t total_params = 0;
  std::int64_t largest_layer_params = 0;  // for stage 3
  std::int64_t gpus_per_node = 1;
  std::int64_t nodes = 1;
  bool offload_optimizer = true;
  bool offload_params = true;  // for stage 3; without offload_optimizer it changes nothing
  bool zero_init = true;       // for stage 3: parameters are cut while the model is built
  double factor = 1.5;         // of host memory, for other uses
};

// MemoryEstimate is the memory for the parameters, gradients and optimiser state of a model that
// trains in 16 bits with Adam: on a node's host, and on each device. Activations, buckets and
// gathered parameters come on top.
struct MemoryEstimate {
  std::int64_t host_bytes = 0;
  std::int64_t device_bytes = 0;
  std::int64_t largest_layer_bytes = 0;  // in stage 3: part of device_bytes
};

// These have DeepSpeed's names and formulas. For P parameters, L of them in the largest layer, G
// devices, g of them in each of N nodes, and the factor f, a device needs 4 L and, without any
// offload, 18 P / G, with offload of the optimiser only 2 P / G. The host needs 18 P / N * f with
// both offloads, 16 P / N * f with one and 4 L g * f with none, if zero_init; otherwise
// P * max(4 g, 18 / N) * f, P * max(4 g, 16 / N) * f and 4 P g * f.
MemoryEstimate estimate_zero3_model_states_mem_needs(const EstimateOptions& options);
// In stages 1 and 2 a device needs 2 P with offload and 2 P + 18 P / G without; the host P *
// max(4 G, 16) * f and 4 P g * f.
MemoryEstimate estimate_zero2_model_states_mem_needs(const EstimateOptions& options);

// count_parameters returns options with the counts of a model; a parameter that is used under two
// names counts once.
EstimateOptions count_parameters(nn::Module& model, EstimateOptions options = {});

}  // namespace simmesh::zero
