#include "core/ops/shapes/factories.h"

#include "core/ops/attribute_names.h"
#include "sharding/strategies/like_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

Attributes local_size(const LocalCall& call) {
  Attributes attributes = call.attributes;
  attributes.set(attribute::size = call.output_specs[0]->local_shape());
  return attributes;
}

ShardingStrategy like() { return {.over_mesh = follow_input, .accepts_short_dims = true}; }

ShardingStrategy of_size() {
  return {.over_mesh = follow_input, .accepts_short_dims = true, .local_attributes = local_size};
}

}  // namespace

void factories_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"empty_like", like()},  {"full_like", like()},    {"ones_like", like()},
      {"zeros_like", like()},  {"new_empty", of_size()}, {"new_full", of_size()},
      {"new_ones", of_size()}, {"new_zeros", of_size()},
  };
  table.add(strategies);
}

}  // namespace simmesh
