#include "replay/run/payload.h"

#include <algorithm>

namespace simmesh::replay {

Tensor payload_of(const RankProgram& program, std::uint32_t step, std::uint32_t index,
                  const Payload& payload) {
  auto inputs = program.tensors_in(program.steps[step].inputs);
  const ProgramTensor& tensor = inputs[index];
  auto first = std::find(inputs.begin(), inputs.end(), tensor);
  std::uint64_t seed = formula_word(payload.seed, std::uint64_t(program.rank));
  seed = formula_word(formula_word(seed, step), std::uint64_t(first - inputs.begin()));
  return formula({tensor.elements}, {.rule = payload.rule, .seed = seed, .dtype = tensor.dtype});
}

}  // namespace simmesh::replay
