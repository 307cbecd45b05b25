#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "pipeline/schedule/row.h"

namespace simmesh::pipeline {

// UnshardWindow bounds the stages of a rank whose parameters are whole at a time.
struct UnshardWindow {
  std::int64_t max_active = 3;
  // The number of coming stages that are gathered ahead, at most max_active.
  std::int64_t lookahead = 3;
};

// UnshardLookahead is the lookahead of all ranks: "full" (as many as may be active), "auto" (rank +
// 2 at most), or a number for each rank.
using UnshardLookahead = std::variant<std::string, std::vector<std::int64_t>>;

// unshard_windows returns the window of each of `ranks` ranks. Raises a ValueError for max_active
// below 1, another word, another length, and a number outside 1 to max_active.
std::vector<UnshardWindow> unshard_windows(const UnshardLookahead& lookahead,
                                           std::int64_t max_active, std::int64_t ranks);

// add_unshard gathers the parameters of the stages that come next before each action (UNSHARD) and
// frees those that don't come soon (RESHARD), which FSDP carries out. Idle slots vanish. A compound
// action is one: all of its stages are gathered, even beyond the window. Raises a ValueError for
// one with more than max_active stages.
Row add_unshard(const Row& row, const UnshardWindow& window);

}  // namespace simmesh::pipeline
