#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fsdp/param_group/param_group.h"

namespace simmesh::fsdp {

// NamedParam is a sharded parameter under one of its names.
struct NamedParam {
  std::string name;
  FSDPParam* param;
  FSDPParamGroup* group;
};

// named_params returns all sharded parameters of a model, tied ones under each of their names, in
// order of the modules and of registration.
std::vector<NamedParam> named_params(nn::Module& model);

// groups_of returns all groups of a model, modules in pre-order.
std::vector<FSDPParamGroup*> groups_of(nn::Module& model);

}  // namespace simmesh::fsdp
