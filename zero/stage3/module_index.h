#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "zero/config/config.h"
#include "zero/engine/model_parallel.h"
#include "zero/fetch/fetch_graph.h"
#include "zero/stage3/partitioned_param.h"

namespace simmesh::zero {

// ModuleIndex numbers the modules and parameters of a model as stage 3 does: modules in pre-order
// without those below leaf modules, parameters in the order of the model, each once.
class ModuleIndex {
 public:
  struct Param {
    std::string name;
    Tensor tensor;
    std::vector<PartitionedParam::Place> places;
    bool is_persistent = false;
  };

  // The parameters are those that an engine trains.
  explicit ModuleIndex(nn::Module& root, const ModelParallel& parallel = {});

  nn::Module& root() const { return *root_; }
  // modules are the numbered modules, in the order of their numbers, with their dotted names.
  const std::vector<std::pair<std::string, nn::Module*>>& modules() const { return modules_; }
  std::vector<Param>& params() { return params_; }
  const std::vector<Param>& params() const { return params_; }

  // module_id and param_id return a number; -1 for a module without one, such as one below a leaf,
  // and for a tensor that is no parameter of the model.
  ModuleId module_id(const nn::Module& module) const;
  ParamId param_id(const Tensor& parameter) const;
  // named returns the number of a parameter. Raises a KeyError for an unknown name.
  ParamId named(std::string_view name) const;

  // mark_persistent marks parameters of at most `threshold` elements, in order, as long as all that
  // are marked have at most `model_threshold`; it skips one that doesn't fit.
  void mark_persistent(std::int64_t threshold, std::int64_t model_threshold);

  // graph returns the input of a coordinator, with shards over a number of ranks.
  FetchGraph graph(std::int64_t ranks) const;

 private:
  void number(nn::Module& module, const std::string& name);
  // owners maps a module to its registered parameters, ascending; only looked up.
  std::map<const nn::Module*, std::vector<ParamId>> owners() const;

  nn::Module* root_;
  std::vector<std::pair<std::string, nn::Module*>> modules_;
  std::map<const nn::Module*, ModuleId> ids_;  // only looked up
  std::vector<Param> params_;
};

}  // namespace simmesh::zero
