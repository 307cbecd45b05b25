#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// conversion_rows returns the rows of partial tensors for an op that converts elements to another
// dtype, from as many inputs as are given, which all have the output's placement: those where
// reducing before or after the conversion gives the same.
//
// A sum of floating numbers isn't the sum of their integer parts, an integer average has lost its
// fraction, only extremes of bools are preserved, and wrapped integers are no longer in order.
StrategyRows conversion_rows(DType from, DType to, std::size_t inputs);

}  // namespace simmesh
