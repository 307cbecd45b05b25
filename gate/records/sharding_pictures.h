#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/check/json_value.h"
#include "core/nn/module.h"
#include "sharding/redistribute/plan_cache.h"

namespace simmesh {

// ShardingPictures collects the shardings of a run, to be stepped through: those of the parameters
// of a model, and those before and after each step of its redistributions. Equal ones are shown
// once.
class ShardingPictures {
 public:
  explicit ShardingPictures(std::size_t groups_max) : groups_max_(groups_max) {}

  // add_model adds the distributed parameters, as the rank that calls it holds them.
  void add_model(nn::Module& model);
  // add_plans adds the redistributions whose plans are kept.
  void add_plans(const PlanCache& cache);

  // json returns the section of a report; null if there are no shardings.
  JsonValue json() const;

 private:
  struct Group {
    std::string title;
    std::size_t equal = 0;  // parameters beside the first one
    JsonValue::List steps;
  };

  std::size_t groups_max_;
  std::size_t left_out_ = 0;
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> known_;  // groups by what makes them equal
};

}  // namespace simmesh
