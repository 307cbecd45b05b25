#include "core/ops/matrices/products.h"

#include <string_view>

#include "core/ops/kernels/scales.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

const Placement sum_of_terms = Partial(ReduceOp::sum);

// Contraction names the dims of a product a b by letters: dims of both factors and the result (a
// batch), dims of both factors only (summed), and dims of one factor and the result.
//
//   {"mk", "kn", "mn"}   // mm
struct Contraction {
  std::string_view left, right, result;
};

std::optional<std::int64_t> place_of(char letter, std::string_view letters) {
  std::size_t place = letters.find(letter);
  if (place == std::string_view::npos) return std::nullopt;
  return std::int64_t(place);
}

Placement split_along(char letter, std::string_view letters) {
  auto place = place_of(letter, letters);
  return place ? Shard(*place) : Replicate();
}

// Batch dims come first, then summed ones, those of the left factor and those of the right.
int rank_of(char letter, const Contraction& product) {
  bool in_left = place_of(letter, product.left).has_value();
  bool in_right = place_of(letter, product.right).has_value();
  if (in_left && in_right) return place_of(letter, product.result) ? 0 : 1;
  return in_left ? 2 : 3;
}

StrategyRows split_rows(const Contraction& product) {
  StrategyRows rows;
  for (int rank = 0; rank < 4; ++rank) {
    std::string_view letters = rank == 3 ? product.right : product.left;
    for (char letter : letters) {
      if (rank_of(letter, product) != rank) continue;
      rows.push_back(rule({split_along(letter, product.left), split_along(letter, product.right)},
                          rank == 1 ? sum_of_terms : split_along(letter, product.result)));
    }
  }
  return rows;
}

StrategyRows product_rows_of(const Contraction& product) {
  StrategyRows rows = split_rows(product);
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
    Placement partial = Partial(op);
    rows.push_back(rule({partial, Replicate()}, partial));
    rows.push_back(rule({Replicate(), partial}, partial));
  }
  return rows;
}

ShardingStrategy product_strategy(const Contraction& product) {
  return {.rows = [product](const StrategyRequest& call) {
    return linear_in(call, product_rows_of(product));
  }};
}

// PyTorch runs a product with a vector as a product of elements and a sum.
StrategyRows vector_product_rows() {
  Placement whole = Replicate();
  return {rule({Shard(0), whole}, Shard(0)), rule({Shard(1), Shard(0)}, sum_of_terms),
          rule({sum_of_terms, whole}, sum_of_terms), rule({whole, sum_of_terms}, sum_of_terms)};
}

ShardingStrategy vector_product_strategy() {
  return {
      .rows = [](const StrategyRequest& call) { return linear_in(call, vector_product_rows()); },
      .is_derived = true};
}

// Returns the placement of the addend for that of the result; the addend may lack dims, or have
// them with size one.
Placement addend_like(const Placement& result, const Shape& addend, const Shape& shape) {
  if (!result.splits()) return result;
  std::int64_t dim = result.dim() - std::int64_t(shape.size() - addend.size());
  return dim < 0 || addend[std::size_t(dim)] == 1 ? Replicate() : Shard(dim);
}

StrategyRows addend_rows(const Contraction& product, const StrategyRequest& call) {
  StrategyRows rows = product_rows_of(product);
  for (StrategyRow& row : rows)
    row.inputs.insert(row.inputs.begin(),
                      addend_like(*row.outputs[0], call.inputs[0].shape, call.outputs[0].shape));
  return linear_in(call, std::move(rows));
}

ShardingStrategy addend_strategy(const Contraction& product) {
  return {.rows = [product](const StrategyRequest& call) { return addend_rows(product, call); },
          .addends = 0b001};
}

// Adds rows whose addend isn't used. It only has to fit the piece of the result, and may be
// pending. One element fits each piece.
void add_rows_without_addend(StrategyRows& rows, const StrategyRow& product,
                             const StrategyRequest& call) {
  const Placement& output = *product.outputs[0];
  std::vector<Placement> any = {Partial(ReduceOp::sum), Partial(ReduceOp::avg),
                                Partial(ReduceOp::max), Partial(ReduceOp::min), Replicate()};
  if (output.splits() && call.inputs[0].shape == call.outputs[0].shape)
    any = {addend_like(output, call.inputs[0].shape, call.outputs[0].shape)};
  for (const Placement& placement : any) {
    rows.push_back(product);
    rows.back().inputs.insert(rows.back().inputs.begin(), placement);
  }
}

// PyTorch runs the product with a vector, expands the addend to it and adds them. So an average
// stays one beside a replicated product, and an addend of one element is never expanded to pieces.
StrategyRows vector_addend_rows(const StrategyRequest& call) {
  bool is_used = scales_of(call.attributes).beta != 0;
  Placement whole = Replicate(), average = Partial(ReduceOp::avg);
  StrategyRows rows, products = vector_product_rows();
  if (!is_used) products.push_back(rule({whole, whole}, whole));
  for (const StrategyRow& product : products) {
    if (!is_used) {
      add_rows_without_addend(rows, product, call);
      continue;
    }
    const Placement& output = *product.outputs[0];
    if (output.splits() && call.inputs[0].shape != call.outputs[0].shape) continue;
    rows.push_back(product);
    rows.back().inputs.insert(rows.back().inputs.begin(), output);
  }
  if (is_used) rows.push_back(rule({average, whole, whole}, average));
  return linear_in(call, std::move(rows));
}

constexpr Contraction matrices = {"mk", "kn", "mn"};
constexpr Contraction batches = {"bmk", "bkn", "bmn"};

}  // namespace

void products_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"mm", product_strategy(matrices)},
      {"bmm", product_strategy(batches)},
      {"mv", vector_product_strategy()},
      {"dot", product_strategy({"k", "k", ""})},
      {"addmm", addend_strategy(matrices)},
      {"addmv", {.rows = vector_addend_rows, .addends = 0b001, .is_derived = true}},
      {"baddbmm", addend_strategy(batches)},
      {"linear", {.decomposition = [](const OpCall& call) -> std::vector<Tensor> {
         return {linear(call.inputs[0], call.inputs[1],
                        call.inputs.size() > 2 ? call.inputs[2] : Tensor())};
       }}},
  };
  table.add(strategies);
}

}  // namespace simmesh
