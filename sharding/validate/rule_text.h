#pragma once

#include <string>

#include "core/samples/op_sample.h"
#include "sharding/propagation/strategy.h"

namespace simmesh {

// rule_text returns "S(0),R -> S(0)": the placements of the inputs and of the outputs of a rule,
// "-" for those without one, "Ragged" for ragged shards.
std::string rule_text(const StrategyRow& rule);

// call_text returns "sum(ab; dims=[1], keepdim=true)": the words of a sample and its arguments.
std::string call_text(const OpSample& sample, const SampleSizes& sizes);

}  // namespace simmesh
