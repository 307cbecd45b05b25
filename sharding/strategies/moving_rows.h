#pragma once

#include <functional>
#include <initializer_list>

#include "sharding/strategies/strategy.h"

namespace simmesh {

// Rows of ops that put elements of their inputs at other places.

// passing_reductions are the reductions that such an op commutes with.
inline constexpr std::initializer_list<ReduceOp> passing_reductions = {
    ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max};

// add_partial_rows adds, for each of the reductions, the row with Partial of it in place of each
// partial entry.
void add_partial_rows(StrategyRows& rows, const StrategyRow& pattern,
                      std::initializer_list<ReduceOp> reductions = passing_reductions);

// moving_rows are those of an op of one tensor that leaves some dims alone: output_dim says which
// dim of the outputs a dim of the input is, and is below 0 for one that may not be split. Partial
// inputs pass.
StrategyRows moving_rows(const StrategyRequest& call,
                         const std::function<std::int64_t(std::int64_t dim)>& output_dim,
                         std::initializer_list<ReduceOp> reductions = passing_reductions);

// with_output_shape returns a LocalAttributes that sets an argument to the shape of the rank's
// piece of the output.
LocalAttributes with_output_shape(const Attribute<Dims>& which);

}  // namespace simmesh
