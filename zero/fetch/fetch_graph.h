#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

namespace simmesh::zero {

// Modules are numbered in pre-order from 0, a module before its children, without those below a
// leaf module; parameters in the order of the model, from 0.
using ModuleId = std::int32_t;
using ParamId = std::int32_t;

// FetchParam is the part of a parameter that the coordinator knows.
struct FetchParam {
  std::int64_t numel = 0;
  std::int64_t shard_numel = 0;  // of one rank
  bool is_persistent = false;    // stays gathered between uses
  bool requires_grad = true;
};

// FetchModule is the part of a module that it knows. A leaf module fetches all parameters below it,
// at once.
struct FetchModule {
  std::vector<ParamId> own;    // registered on the module itself
  std::vector<ParamId> below;  // of the module and all modules below it
  bool is_leaf = false;
};

// FetchGraph maps modules to the parameters that they need: those registered on the module, or for
// a leaf module all below it, and external parameters, which it uses though another module owns
// them.
class FetchGraph {
 public:
  // Raises an IndexError for a module that names an unknown parameter.
  FetchGraph(std::vector<FetchParam> params, std::vector<FetchModule> modules);

  std::size_t param_count() const { return params_.size(); }
  std::size_t module_count() const { return modules_.size(); }
  const FetchParam& param(ParamId id) const { return params_[std::size_t(id)]; }
  bool is_leaf(ModuleId id) const { return modules_[std::size_t(id)].is_leaf; }
  const FetchModule& module(ModuleId id) const { return modules_[std::size_t(id)]; }

  // needs returns what a module needs, ascending, each once.
  gsl::span<const ParamId> needs(ModuleId id) const { return needs_[std::size_t(id)]; }
  const std::vector<ParamId>& externals(ModuleId id) const { return externals_[std::size_t(id)]; }
  // version counts the changes of a module's needs.
  std::uint32_t version(ModuleId id) const { return versions_[std::size_t(id)]; }

  // add_external makes a module need a parameter; a second time it does nothing. A returned one
  // came out of a forward, and keeps that flag. remove_external undoes it.
  void add_external(ModuleId module, ParamId param, bool returned);
  void remove_external(ModuleId module, ParamId param);
  bool is_returned(ParamId id) const { return returned_[std::size_t(id)]; }

  // check raises an IndexError for an id that doesn't exist.
  void check_module(ModuleId id) const;
  void check_param(ParamId id) const;

 private:
  void update(ModuleId id);

  std::vector<FetchParam> params_;
  std::vector<FetchModule> modules_;
  std::vector<std::vector<ParamId>> needs_, externals_;
  std::vector<std::uint32_t> versions_;
  std::vector<bool> returned_;
};

}  // namespace simmesh::zero
