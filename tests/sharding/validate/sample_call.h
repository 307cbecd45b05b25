#pragma once

#include "core/ops/registry/registry.h"
#include "core/samples/op_sample.h"
#include "sharding/strategies/strategy_of.h"
#include "sharding/validate/local_run.h"

namespace simmesh::testing {

// sample_call calls an op of the library on the whole tensors that the words of a sample describe,
// where every size is 4, as "ab bc".
inline WholeCall sample_call(std::string_view name, std::string_view inputs,
                             const Attributes& attributes = {}) {
  const Op& op = *find_op(name);
  OpSample sample{name, inputs, attributes};
  return whole_call(op, *strategy_of(op), attributes, sample_inputs(sample, SampleSizes(), {}));
}

}  // namespace simmesh::testing
