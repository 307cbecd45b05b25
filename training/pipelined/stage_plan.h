#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/nn/model_node.h"

namespace simmesh {

// StagePlan is how a model is cut into the stages of a pipeline. Its parts, in the order in which
// they are called, are the children of the root, and of plain containers in which blocks lie. A
// part is never cut.
struct StagePlan {
  struct Part {
    std::string path;
    nn::ModelNode node;
    std::int64_t stage;
  };

  nn::ModelNode model;
  std::int64_t stages = 1;
  std::vector<Part> parts;

  // index_of returns the part that a dotted path is in: of a parameter, a module, or the state of
  // an optimiser.
  std::size_t index_of(const std::string& path) const;
  // stage_of returns the stage of that part.
  std::int64_t stage_of(const std::string& path) const { return parts[index_of(path)].stage; }
  // has is true if a stage has a module: the root, a part, or a module above or below one.
  bool has(std::int64_t stage, const std::string& path) const;
};

// block_count returns the number of blocks between which a model can be cut: nodes of the kind
// block, or, in a model without any, parts that have parameters.
std::int64_t block_count(const nn::ModelNode& model);

// even_cut returns the number of blocks of each stage: the first ones get one more if they don't
// divide.
std::vector<std::int64_t> even_cut(std::int64_t blocks, std::int64_t stages);

// plan_stages cuts a model. `blocks` has the number of blocks of each stage; they add up to those
// of the model. What comes before the first block, as an embedding does, belongs to the first
// stage, and what follows the last block, as a head does, to the last one. Anything else belongs to
// the stage of the block before it. Raises a ValueError for another sum, and for a stage without
// parameters.
StagePlan plan_stages(const nn::ModelNode& model, const std::vector<std::int64_t>& blocks);

}  // namespace simmesh
