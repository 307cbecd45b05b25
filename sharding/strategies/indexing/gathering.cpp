#include "core/ops/indexing/gathering.h"

#include "core/ops/call.h"
#include "core/ops/kernels/places.h"
#include "sharding/strategies/moving_rows.h"
#include "sharding/strategies/strategy_table.h"
#include "sharding/strategies/table_lookup.h"

namespace simmesh {

namespace {

std::int64_t rank_of(const TensorType& type) { return std::int64_t(type.shape.size()); }

// Splits columns of the table, its rows, or a dim of the indices.
StrategyRows embedding_rows(const StrategyRequest& call) {
  std::int64_t dims = rank_of(call.inputs[1]);
  StrategyRows rows = {splitting_rule({Shard(1), Replicate()}, Shard(dims)), lookup_row(call, 0)};
  for (std::int64_t dim = 0; dim < dims; ++dim)
    rows.push_back(splitting_rule({Replicate(), Shard(dim)}, Shard(dim)));
  return rows;
}

// The padding row is numbered in the whole table, and a look-up ignores it.
std::vector<Tensor> embedded_piece(const LocalCall& call) { return looked_up(call, 0); }

Attributes without_padding(const LocalCall& call) {
  Attributes attributes = call.attributes;
  attributes.set(attribute::padding_idx = -1);
  return attributes;
}

StrategyRows embedding_backward_rows(const StrategyRequest& call) {
  StrategyRows rows = {splitting_rule({Shard(rank_of(call.inputs[0]) - 1), Replicate()}, Shard(1))};
  for (std::int64_t dim = 0; dim < rank_of(call.inputs[1]); ++dim)
    rows.push_back(splitting_rule({Shard(dim), Shard(dim)}, Partial()));
  rows.push_back(rule({Partial(), Replicate()}, Partial()));
  return rows;
}

// Along a dim that isn't gathered, an index may be shorter than x; then its pieces don't match
// those of x.
StrategyRows gather_rows(const StrategyRequest& call) {
  const Shape &x = call.inputs[0].shape, &index = call.inputs[1].shape;
  if (x.empty() || index.size() != x.size()) return {};
  std::int64_t along = indexed_dim(call.attributes, x);
  StrategyRows rows;
  if (index[std::size_t(along)] == 1) rows.push_back(lookup_row(call, along));
  rows.push_back(splitting_rule({Replicate(), Shard(along)}, Shard(along)));
  for (std::size_t dim = 0; dim < x.size(); ++dim)
    if (std::int64_t(dim) != along && x[dim] == index[dim])
      rows.push_back(
          rule({Shard(std::int64_t(dim)), Shard(std::int64_t(dim))}, Shard(std::int64_t(dim))));
  return rows;
}

std::vector<Tensor> gathered_piece(const LocalCall& call) {
  const Shape& x = call.input_specs[0]->shape;
  if (x.empty()) return simmesh::call(call.op, call.inputs, call.attributes);
  return looked_up(call, indexed_dim(call.attributes, x));
}

StrategyRows index_select_rows(const StrategyRequest& call) {
  const Shape& x = call.inputs[0].shape;
  std::int64_t along = indexed_dim(call.attributes, x);
  StrategyRows rows;
  for (std::int64_t dim = 0; dim < std::int64_t(x.size()); ++dim)
    if (dim != along) rows.push_back(rule({Shard(dim), Replicate()}, Shard(dim)));
  if (!x.empty() && !call.inputs[1].shape.empty())
    rows.push_back(rule({Replicate(), Shard(0)}, Shard(along)));
  add_partial_rows(rows, rule({Partial(), Replicate()}, Partial()));
  return rows;
}

StrategyRows one_hot_rows(const StrategyRequest& call) {
  StrategyRows rows;
  for (std::int64_t dim = 0; dim < rank_of(call.inputs[0]); ++dim)
    rows.push_back(rule({Shard(dim)}, Shard(dim)));
  return rows;
}

// PyTorch runs it as a lookup in the flattened tensor, of which no piece holds all places.
StrategyRows take_rows(const StrategyRequest& call) {
  StrategyRows rows;
  const Shape& index = call.inputs[1].shape;
  for (std::int64_t dim = 0; dim < std::int64_t(index.size()); ++dim)
    if (index[std::size_t(dim)] != 1) rows.push_back(rule({Replicate(), Shard(dim)}, Shard(dim)));
  add_partial_rows(rows, rule({Partial(), Replicate()}, Partial()), {ReduceOp::sum, ReduceOp::avg});
  return rows;
}

}  // namespace

void gathering_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"embedding",
       {.rows = embedding_rows, .local_attributes = without_padding, .compute = embedded_piece}},
      {"embedding_dense_backward", going_on({.rows = embedding_backward_rows})},
      {"gather", {.rows = gather_rows, .compute = gathered_piece}},
      {"take", {.rows = take_rows, .is_derived = true}},
      {"index_select", {.rows = index_select_rows}},
      {"one_hot", {.rows = one_hot_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
