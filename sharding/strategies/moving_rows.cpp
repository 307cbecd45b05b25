#include "sharding/strategies/moving_rows.h"

namespace simmesh {

void add_partial_rows(StrategyRows& rows, const StrategyRow& pattern,
                      std::initializer_list<ReduceOp> reductions) {
  for (ReduceOp reduction : reductions) {
    rows.push_back(pattern);
    for (StrategyRow::Entries* entries : {&rows.back().inputs, &rows.back().outputs})
      for (auto& entry : *entries)
        if (entry && entry->is_partial()) entry = Partial(reduction);
  }
}

StrategyRows moving_rows(const StrategyRequest& call,
                         const std::function<std::int64_t(std::int64_t dim)>& output_dim,
                         std::initializer_list<ReduceOp> reductions) {
  StrategyRows rows;
  std::size_t outputs = call.outputs.size();
  std::int64_t dims = std::int64_t(call.inputs[0].shape.size());
  for (std::int64_t dim = 0; dim < dims; ++dim)
    if (std::int64_t target = output_dim(dim); target >= 0)
      rows.push_back(rule({Shard(dim)}, StrategyRow::Entries(outputs, Shard(target))));
  add_partial_rows(rows, rule({Partial()}, StrategyRow::Entries(outputs, Partial())), reductions);
  return rows;
}

LocalAttributes with_output_shape(const Attribute<Dims>& which) {
  return [which](const LocalCall& call) {
    Attributes attributes = call.attributes;
    attributes.set(which = call.output_specs[0]->local_shape());
    return attributes;
  };
}

}  // namespace simmesh
