#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// conversion_rows returns the rows of partial tensors of an op that brings elements of one dtype to
// another, from as many inputs as are given, which all lie like the output: those for which it
// makes no difference whether the elements are reduced before or after.
//
// A sum of floating numbers isn't the sum of their integer parts, an integer average has lost its
// fraction, of bools only extremes are kept, and integers that wrap are not in order any more.
StrategyRows conversion_rows(DType from, DType to, std::size_t inputs);

}  // namespace simmesh
