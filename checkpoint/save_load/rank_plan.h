#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/catalog/state_dict.h"

namespace simmesh::checkpoint {

// RankTensor describes a tensor of a rank to other ranks.
struct RankTensor {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
  std::vector<Box> boxes;
};

// RankPlan is a rank's part of a save: its tensors and other values.
struct RankPlan {
  std::vector<RankTensor> tensors;
  std::vector<std::pair<std::string, std::string>> objects;  // names, and values as JSON
};

// rank_plan returns a rank's part of a state dict.
RankPlan rank_plan(const StateDict& state, const std::vector<LocalTensor>& locals);

// plan_text returns a plan as a text for other ranks, and parse_plan the plan of a text.
std::string plan_text(const RankPlan& plan);
RankPlan parse_plan(std::string_view text);

}  // namespace simmesh::checkpoint
