#include "zero/engine/lower_dtypes.h"

#include <algorithm>
#include <boost/core/demangle.hpp>
#include <string>
#include <typeinfo>

namespace simmesh::zero {

namespace {

const std::vector<std::string>& default_classes() {
  static const std::vector<std::string> classes = {"torch.nn.Linear", "torch.nn.Conv1d",
                                                   "torch.nn.Conv2d", "torch.nn.Conv3d"};
  return classes;
}

std::string last_part(const std::string& dotted) { return dotted.substr(dotted.rfind('.') + 1); }

std::string class_name(const nn::Module& module) {
  std::string name = boost::core::demangle(typeid(module).name());
  return name.substr(name.rfind(':') + 1);
}

}  // namespace

std::optional<DType> lower_dtype(const nn::Module& module, const TorchAutocast& autocast) {
  if (!autocast.enabled || !autocast.dtype) return {};
  const auto& given = autocast.lower_precision_safe_modules;
  std::string own = class_name(module);
  for (const std::string& name : given ? *given : default_classes())
    if (last_part(name) == own) return autocast.dtype;
  return {};
}

std::vector<std::optional<DType>> lower_dtypes(nn::Module& root, const TorchAutocast& autocast) {
  std::vector<nn::NamedTensor> parameters = root.named_parameters();
  std::vector<std::optional<DType>> dtypes(parameters.size());
  for (const auto& [path, module] : root.named_modules()) {
    std::optional<DType> dtype = lower_dtype(*module, autocast);
    if (!dtype) continue;
    for (const nn::ParameterSlot& slot : module->slots())
      for (std::size_t i = 0; i < parameters.size(); ++i)
        if (slot.tensor.is_defined() && nn::is_same_tensor(slot.tensor, parameters[i].second))
          dtypes[i] = dtype;
  }
  return dtypes;
}

}  // namespace simmesh::zero
