#pragma once

#include "core/nn/module.h"

namespace simmesh::zero {

// register_external_parameter tells that the forward of a module uses a parameter of another one,
// so that stage 3 gathers it with the module's own: at once where it isn't available. A forward
// that reads such a parameter by name registers it by itself. unregister_external_parameter undoes
// that. Both are called by all members of the group, and raise a RuntimeError for a module that
// isn't fetched by itself by an engine of stage 3, and for a tensor that is no parameter of the
// model.
void register_external_parameter(nn::Module& module, const Tensor& parameter);
void unregister_external_parameter(nn::Module& module, const Tensor& parameter);

}  // namespace simmesh::zero
