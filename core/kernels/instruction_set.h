#pragma once

#include <cstdint>
#include <gsl/span>
#include <string_view>

namespace simmesh {

struct Kernels;

// InstructionSet names the variants in which the kernels of products, sums, functions,
// reductions and conversions are compiled. All give the same bits, so a caller picks one only to
// test that, or to measure.
enum class InstructionSet : std::uint8_t {
  portable,  // what every processor of the architecture has; fused operations are emulated
  avx2,      // AVX2, FMA and F16C
  avx512,    // AVX-512F
};

// to_string returns the enumerator's name, for instance "avx2".
std::string_view to_string(InstructionSet set);

// available_instruction_sets returns the variants that this processor can run, slowest first;
// portable is always the first one.
gsl::span<const InstructionSet> available_instruction_sets();

// best_instruction_set returns the last of available_instruction_sets.
InstructionSet best_instruction_set();

// kernels_of returns the kernels of an available instruction set.
const Kernels& kernels_of(InstructionSet set);

}  // namespace simmesh
