#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/pipelined/stage_plan.h"
#include "training/training.h"

namespace simmesh {

// TiedCopy is a parameter that a model ties to another one of another stage. Each stage has a copy.
struct TiedCopy {
  std::string copy;
  std::string original;
};

// tied_copies returns those of a model.
std::vector<TiedCopy> tied_copies(const TrainingModel& model, const StagePlan& plan);

// RankStages are the modules that one rank of a pipeline trains, with their values: a module for
// each of its stages, and one that has all of their parts, under the paths of the whole model.
class RankStages {
 public:
  // `own` lists the stages of this rank, in ascending order. On the meta device parameters have no
  // values yet.
  RankStages(const TrainingModel& model, const StagePlan& plan,
             const std::vector<std::int64_t>& own, nn::Device device = nn::Device::cpu);

  nn::Module& all() const { return *all_; }
  const std::vector<nn::ModulePtr>& stages() const { return stages_; }

 private:
  std::vector<nn::ModulePtr> stages_;
  nn::ModulePtr all_;
};

}  // namespace simmesh
