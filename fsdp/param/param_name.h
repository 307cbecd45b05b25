#pragma once

#include <string>

#include "core/nn/module.h"
#include "fsdp/param/param.h"

namespace simmesh::fsdp {

// path_of returns the dotted path of a module below a model, "?" for one that isn't below it.
std::string path_of(const nn::Module& module, nn::Module& model);

// name_of returns the dotted path of a parameter, by the slot that owns it.
std::string name_of(const FSDPParam& param, nn::Module& model);

}  // namespace simmesh::fsdp
