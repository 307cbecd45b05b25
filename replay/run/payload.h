#pragma once

#include <cstdint>

#include "core/tensor/formula.h"
#include "replay/run/rank_program.h"

namespace simmesh::replay {

// Payload selects the elements of the tensors that communications send. Under `small` they are
// integers from -4 to 3, so that sums are exact in any order; under `wide` they have 24 bits, so
// that only exact arithmetic adds them in any order with the same result.
struct Payload {
  Rule rule = Rule::small;
  std::uint64_t seed = 0;
};

// payload_of returns the elements of the input with an index when its step sends it: a pure
// function of seed, rank, step, index and the element's place. An input that is the same memory as
// an earlier one of the step has the same elements. A flat tensor.
Tensor payload_of(const RankProgram& program, std::uint32_t step, std::uint32_t index,
                  const Payload& payload);

}  // namespace simmesh::replay
