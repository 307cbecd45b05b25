#include "zero/stage3/external_parameters.h"

#include "core/check/error.h"
#include "zero/stage3/module_hooks.h"
#include "zero/stage3/stage3.h"

namespace simmesh::zero {

namespace {

struct ExternalUse {
  Stage3& stage;
  ModuleId module;
  ParamId param;
};

ExternalUse use_of(const nn::Module& module, const Tensor& parameter) {
  constexpr std::string_view where = "zero/register_external_parameter";
  Stage3* stage = stage_of(module);
  ModuleId id = stage ? stage->index().module_id(module) : -1;
  if (id < 0)
    raise(ErrorKind::runtime_error, where,
          "expected a module that an engine of stage 3 fetches by itself");
  ParamId param = stage->index().param_id(parameter);
  if (param < 0)
    raise(ErrorKind::runtime_error, where, "expected a parameter of the engine's model");
  return {*stage, id, param};
}

}  // namespace

void register_external_parameter(nn::Module& module, const Tensor& parameter) {
  ExternalUse use = use_of(module, parameter);
  use.stage.register_external(use.module, use.param);
}

void unregister_external_parameter(nn::Module& module, const Tensor& parameter) {
  ExternalUse use = use_of(module, parameter);
  use.stage.unregister_external(use.module, use.param);
}

}  // namespace simmesh::zero
