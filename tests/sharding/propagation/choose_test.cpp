#include "sharding/propagation/choose.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/check/error.h"
#include "core/ops/registry/registry.h"
#include "sharding/propagation/candidates.h"
#include "sharding/propagation/propagation.h"
#include "sharding/strategies/filled_rows.h"
#include "sharding/strategies/strategy_of.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

const Placements operand_kinds = {Replicate(), Shard(0), Shard(1), Partial(),
                                  Partial(ReduceOp::max)};

PropagationRequest request_for(const char* op, const Dims& mesh, const Placements& a,
                               const Placements& b) {
  return {.op = find_op(op),
          .inputs = {{{4, 6}}, {{6, 4}}},
          .given = {Sharding{a, {}}, Sharding{b, {}}},
          .mesh_shape = mesh};
}

double cost_of(const PropagationRequest& request, const std::vector<const StrategyRow*>& rows) {
  CandidateCosts costs(request);
  double cost = 0.0;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    Placements target;
    for (const StrategyRow* row : rows) target.push_back(*row->inputs[i]);
    if (!is_shardable(request.inputs[i].shape, target, request.mesh_shape))
      return std::numeric_limits<double>::infinity();
    cost += costs.cost_us(i, target);
  }
  return cost;
}

// Returns every product of rows, in order, with which the search must agree.
std::vector<std::vector<const StrategyRow*>> products(const StrategyRows& rows, std::size_t dims) {
  std::vector<std::vector<const StrategyRow*>> result = {{}};
  for (std::size_t dim = 0; dim < dims; ++dim) {
    std::vector<std::vector<const StrategyRow*>> longer;
    for (const auto& prefix : result)
      for (const StrategyRow& row : rows) {
        longer.push_back(prefix);
        longer.back().push_back(&row);
      }
    result = std::move(longer);
  }
  return result;
}

// The search prunes a candidate that is cheaper, or takes another of equal price than all ranks of
// another release would.
TEST(Choose, FindsWhatTheFullProductFinds) {
  int compared = 0;
  for (const Dims& mesh : {Dims{2}, Dims{3}, Dims{2, 2}, Dims{2, 3}, Dims{2, 1, 2}})
    for (const Placements& a : small_worlds::lists(mesh.size(), operand_kinds))
      for (const Placements& b : small_worlds::lists(mesh.size(), operand_kinds)) {
        if (mesh.size() == 3 && compared % 7 != 0 && ++compared) continue;
        PropagationRequest request = request_for("mm", mesh, a, b);
        Propagation found;
        try {
          found = propagate(request);
        } catch (const Error&) {
          continue;
        }
        std::vector<std::optional<Placements>> given = {a, b};
        TensorTypes outputs = {{{4, 4}}};
        StrategyRows rows =
            filled_rows(found.strategy->rows({request.inputs, outputs, request.attributes}),
                        {request.inputs, outputs, request.attributes}, given);
        double least = std::numeric_limits<double>::infinity();
        for (const auto& product : products(rows, mesh.size()))
          least = std::min(least, cost_of(request, product));
        EXPECT_EQ(found.cost_us, least) << to_string(request);
        ++compared;
      }
  EXPECT_GT(compared, 1000);
}

// An element of a list would keep its placements, though a cheapest row that comes before moves it.
TEST(Choose, TakesTheFirstCheapestForAnElementOfAList) {
  PropagationRequest request{
      .op = find_op("add"),
      .inputs = {{{4, 6}}, {{4, 6}}},
      .given = {Sharding{{Replicate()}, {}}, Sharding{{Partial(ReduceOp::avg)}, {}}},
      .mesh_shape = {2}};
  EXPECT_FALSE(propagate(request).moves_inputs);
  request.attributes.set(attribute::of_list = true);
  Propagation found = propagate(request);
  EXPECT_EQ(found.inputs[0]->placements, Placements{Partial(ReduceOp::avg)});
  EXPECT_EQ(found.outputs[0]->placements, Placements{Partial(ReduceOp::avg)});
}

}  // namespace
}  // namespace simmesh
