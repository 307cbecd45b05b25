#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/kernels/instruction_set.h"

namespace simmesh {

// SelfCheck is one entry of the table of hashes that arithmetic must give on every machine.
struct SelfCheck {
  std::string name;
  std::uint64_t expected = 0;
  std::function<std::uint64_t(InstructionSet)> computed;
};

// self_checks returns the table: products, sums, functions and random numbers, each over all its
// dtypes and some ragged shapes.
std::vector<SelfCheck> self_checks();

}  // namespace simmesh
