#pragma once

#include <functional>
#include <initializer_list>

#include "sharding/strategies/strategy.h"

namespace simmesh {

// Rows of ops that move elements of their inputs to other places.

// passing_reductions are the reductions with which such an op commutes.
inline constexpr std::initializer_list<ReduceOp> passing_reductions = {
    ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max};

// add_partial_rows adds, for each of the reductions, the row in which each partial entry has that
// reduction.
void add_partial_rows(StrategyRows& rows, const StrategyRow& pattern,
                      std::initializer_list<ReduceOp> reductions = passing_reductions);

// moving_rows are the rows of an op of one tensor that leaves some dims alone: output_dim maps a
// dim of the input to a dim of the outputs, and is below 0 for one that may not be split. Partial
// inputs pass.
StrategyRows moving_rows(const StrategyRequest& call,
                         const std::function<std::int64_t(std::int64_t dim)>& output_dim,
                         std::initializer_list<ReduceOp> reductions = passing_reductions);

// with_output_shape returns a LocalAttributes that sets an argument to the shape of the rank's
// piece of the output.
LocalAttributes with_output_shape(const Attribute<Dims>& which);

}  // namespace simmesh
