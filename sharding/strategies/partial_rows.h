#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// Rows of partial tensors that many ops share, for ops of one tensor or two, in PyTorch's order.

// linear_rows are the rows of ops with f(a + b) = f(a) + f(b).
StrategyRows linear_rows();
// increasing_rows are the rows of an op that is nowhere decreasing: the largest argument gives the
// largest result; decreasing_rows those of an op that is nowhere increasing.
StrategyRows increasing_rows();
StrategyRows decreasing_rows();
// passing_rows are the rows of an op that returns its input unchanged.
StrategyRows passing_rows();
// additive_rows are the rows of a + b, product_rows those of a * b, quotient_rows those of a / b.
StrategyRows additive_rows();
StrategyRows product_rows();
StrategyRows quotient_rows();
// increasing_pair_rows are the rows of an op of two tensors that is nowhere decreasing in either;
// largest_rows and least_rows those of the larger and the lesser of two.
StrategyRows increasing_pair_rows();
StrategyRows largest_rows();
StrategyRows least_rows();

// joined returns the rows of all lists, in their order.
StrategyRows joined(std::initializer_list<StrategyRows> lists);

}  // namespace simmesh
