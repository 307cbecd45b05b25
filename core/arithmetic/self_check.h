#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/kernels/instruction_set.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// SelfCheck is one entry of the table of hashes that arithmetic must give on every machine.
struct SelfCheck {
  std::string name;
  std::uint64_t expected = 0;
  std::function<std::uint64_t(InstructionSet)> computed;
};

// self_check_values returns the data of the checks: floating-point numbers with as many bits as the
// dtype holds, over 16 powers of two, so that sums and products of them round in every dtype.
Tensor self_check_values(DimSpan shape, DType dtype, std::uint64_t seed);

// self_checks returns the table: products, sums, functions and random numbers, each over all its
// dtypes and some ragged shapes.
std::vector<SelfCheck> self_checks();

}  // namespace simmesh
