#include "fsdp/param/param_name.h"

namespace simmesh::fsdp {

std::string path_of(const nn::Module& module, nn::Module& model) {
  for (auto& [name, known] : model.named_modules())
    if (known == &module) return name;
  return "?";
}

std::string name_of(const FSDPParam& param, nn::Module& model) {
  std::string path = path_of(*param.slots().owner.module, model);
  return path.empty() ? param.slots().owner.name : path + "." + param.slots().owner.name;
}

}  // namespace simmesh::fsdp
