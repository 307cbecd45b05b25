#pragma once

#include "core/check/json_value.h"
#include "core/shards/shard_results.h"
#include "gate/compose/composition.h"

namespace simmesh {

// to_json returns what came of a layout so that united_composition reads it, and about_layouts what
// all layouts have in common.
JsonValue to_json(const LayoutResult& result);
JsonValue about_layouts(const Composition& found);

// united_composition returns what one run of all layouts finds, from the results of all shards.
// Raises a ValueError where one is missing or broken.
Composition united_composition(const ShardResults& all);

}  // namespace simmesh
