#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/catalog/state_dict.h"

namespace simmesh::checkpoint {

// RankTensor is what other ranks have to know of a tensor that a rank holds or wants.
struct RankTensor {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
  std::vector<Box> boxes;
};

// RankPlan is what a rank brings to a save, or wants from a load: tensors, and the names of its
// other values.
struct RankPlan {
  std::vector<RankTensor> tensors;
  std::vector<std::pair<std::string, std::string>> objects;  // name, and the value as JSON
};

// rank_plan describes a rank's part of a state dict.
RankPlan rank_plan(const StateDict& state, const std::vector<LocalTensor>& locals);

// plan_text and parse_plan pass a plan to other ranks.
std::string plan_text(const RankPlan& plan);
RankPlan parse_plan(std::string_view text);

}  // namespace simmesh::checkpoint
