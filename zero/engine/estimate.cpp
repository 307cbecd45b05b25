#include "zero/engine/estimate.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh::zero {

namespace {

void check_options(const EstimateOptions& options) {
  if (options.gpus_per_node < 1 || options.nodes < 1)
    raise(ErrorKind::value_error, "zero/estimate",
          "expected at least 1 node and 1 device in each, got {} and {}", options.nodes,
          options.gpus_per_node);
}

std::int64_t whole_bytes(double bytes) { return std::int64_t(bytes); }

// Returns the host's bytes in stage 3, before the factor.
double host_bytes3(const EstimateOptions& options) {
  double total = double(options.total_params), nodes = double(options.nodes);
  double own = double(options.gpus_per_node);
  if (options.offload_optimizer) {
    double bytes = options.offload_params ? 18.0 : 16.0;
    return options.zero_init ? total * bytes / nodes : total * std::max(4.0 * own, bytes / nodes);
  }
  return 4.0 * own * (options.zero_init ? double(options.largest_layer_params) : total);
}

}  // namespace

MemoryEstimate estimate_zero3_model_states_mem_needs(const EstimateOptions& options) {
  check_options(options);
  double devices = double(options.gpus_per_node) * double(options.nodes);
  double largest = 4.0 * double(options.largest_layer_params);
  double per_parameter = !options.offload_optimizer ? 18.0 : options.offload_params ? 0.0 : 2.0;
  return {
      .host_bytes = whole_bytes(host_bytes3(options) * options.factor),
      .device_bytes = whole_bytes(largest + per_parameter * double(options.total_params) / devices),
      .largest_layer_bytes = whole_bytes(largest)};
}

MemoryEstimate estimate_zero2_model_states_mem_needs(const EstimateOptions& options) {
  check_options(options);
  double total = double(options.total_params), own = double(options.gpus_per_node);
  double devices = own * double(options.nodes);
  double host = total * (options.offload_optimizer ? std::max(4.0 * devices, 16.0) : 4.0 * own);
  double device = 2.0 * total + (options.offload_optimizer ? 0.0 : 18.0 * total / devices);
  return {.host_bytes = whole_bytes(host * options.factor), .device_bytes = whole_bytes(device)};
}

EstimateOptions count_parameters(nn::Module& model, EstimateOptions options) {
  options.total_params = 0;
  options.largest_layer_params = 0;
  for (const Tensor& parameter : model.parameters()) options.total_params += parameter.numel();
  for (const auto& [name, module] : model.named_modules()) {
    std::int64_t own = 0;
    for (const nn::ParameterSlot& slot : module->slots())
      if (slot.tensor.is_defined()) own += slot.tensor.numel();
    options.largest_layer_params = std::max(options.largest_layer_params, own);
  }
  return options;
}

}  // namespace simmesh::zero
