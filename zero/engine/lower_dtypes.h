#pragma once

#include <optional>
#include <vector>

#include "core/nn/module.h"
#include "zero/config/config.h"

namespace simmesh::zero {

// lower_dtype returns the dtype in which torch_autocast communicates the parameters that a module
// registers itself, nullopt where it leaves their dtype: with autocast off or without a dtype, and
// for modules of classes that aren't safe in the lower dtype.
std::optional<DType> lower_dtype(const nn::Module& module, const TorchAutocast& autocast);

// lower_dtypes returns the same for each of a module's named_parameters.
std::vector<std::optional<DType>> lower_dtypes(nn::Module& root, const TorchAutocast& autocast);

}  // namespace simmesh::zero
