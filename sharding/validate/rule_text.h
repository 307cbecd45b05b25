#pragma once

#include <string>

#include "core/samples/op_sample.h"
#include "sharding/strategies/strategy.h"

namespace simmesh {

// placement_text returns the word of a placement in a rule. It is "Ragged" for a ragged shard,
// whose units differ from mesh to mesh.
std::string placement_text(const Placement& placement);

// rule_text returns "S(0),R -> S(0)": the placements of the inputs and of the outputs of a rule,
// "-" for tensors without one.
std::string rule_text(const StrategyRow& rule);

// call_text returns "sum(ab; dims=[1], keepdim=true)": the words of a sample and its arguments.
std::string call_text(const OpSample& sample, const SampleSizes& sizes);

}  // namespace simmesh
