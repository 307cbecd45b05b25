#pragma once

#include "core/ops/registry/op_table.h"
#include "sharding/strategies/strategy.h"

namespace simmesh {

// OpStrategy is the sharding strategy of the op of that name.
using OpStrategy = OfOp<ShardingStrategy>;

// StrategyTable has the strategies of the library's ops. Those of the ops of
// core/ops/elementwise/logic.cpp are in sharding/strategies/elementwise/logic.cpp, and so on. The
// source defines the function that is named after it and adds them:
// void logic_strategies(StrategyTable& table) { ... table.add(strategies); }
// No list names these functions: cmake/families.cmake finds them by the names of the sources.
using StrategyTable = OpTable<ShardingStrategy>;

// collected_strategies returns the strategies of all families.
StrategyTable collected_strategies();

}  // namespace simmesh
