#pragma once

#include "core/ops/random/random.h"
#include "core/tensor/tensor.h"

namespace simmesh::nn {

// Device is where a parameter is stored: on meta it has shape and dtype, and no elements.
enum class Device : std::uint8_t { cpu, meta };

// ParameterOptions are the options of all modules with parameters.
struct ParameterOptions {
  DType dtype = DType::float32;
  Device device = Device::cpu;
};

// new_parameter returns an uninitialised tensor.
Tensor new_parameter(DimSpan shape, const ParameterOptions& options);

// Initialisers write into a tensor, unrecorded, and do nothing on the meta device. Random ones draw
// each element by its index, so a shard draws the same values as the whole tensor has there.
struct Uniform {
  double low = 0.0;
  double high = 1.0;
};
void uniform_(Tensor& tensor, const Uniform& range, const Generator& generator);

// Normal is a normal distribution.
struct Normal {
  double mean = 0.0;
  double deviation = 1.0;
};
// normal_ draws each element.
void normal_(Tensor& tensor, const Normal& distribution, const Generator& generator);

// constant_ writes one value everywhere.
void constant_(Tensor& tensor, double value);

// kaiming_uniform_ draws from +-gain * sqrt(3 / fan_in) of a weight [out, in, ...], with the gain
// of a leaky ReLU of that slope. PyTorch's linear and convolution layers have the slope sqrt(5).
// Raises a ValueError for fewer than two dims, as xavier_uniform_ does.
void kaiming_uniform_(Tensor& weight, double slope, const Generator& generator);

// xavier_uniform_ draws from +-gain * sqrt(6 / (fan_in + fan_out)).
void xavier_uniform_(Tensor& weight, double gain, const Generator& generator);

}  // namespace simmesh::nn
