#include "core/nn/containers.h"

#include "core/check/error.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh::nn {

Sequential::Sequential(std::vector<NamedModule> children, std::vector<std::string> calls)
    : calls_(std::move(calls)) {
  bool calls_given = !calls_.empty();
  for (NamedModule& named : children) {
    if (!calls_given) calls_.push_back(named.first);
    register_child(named.first, std::move(named.second));
  }
  for (const std::string& name : calls_) child(name);
}

Tensors Sequential::forward(const Tensors& inputs) {
  Tensors values = inputs;
  for (const std::string& name : calls_) values = child(name).call(std::move(values));
  return values;
}

Tensors Residual::forward(const Tensors& inputs) {
  return {add(inputs[0], Sequential::forward(inputs)[0])};
}

Fan::Fan(std::vector<NamedModule> children) {
  for (NamedModule& named : children) register_child(named.first, std::move(named.second));
}

Tensors Fan::forward(const Tensors& inputs) {
  Tensors results;
  for (const auto& [name, child] : children())
    for (Tensor& result : child->call(inputs)) results.push_back(std::move(result));
  return results;
}

Add::Add(std::vector<NamedModule> children) {
  for (NamedModule& named : children) register_child(named.first, std::move(named.second));
}

Tensors Add::forward(const Tensors& inputs) {
  Tensor total;
  for (const auto& [name, child] : children()) {
    Tensor result = child->call(inputs)[0];
    total = total.is_defined() ? add(total, result) : result;
  }
  return {total};
}

ModuleList::ModuleList(std::vector<NamedModule> children) {
  for (NamedModule& named : children) register_child(named.first, std::move(named.second));
}

Tensors ModuleList::forward(const Tensors&) {
  raise(ErrorKind::not_implemented_error, "nn/module_list",
        "expected a call of one of its modules: a ModuleList has no forward");
}

}  // namespace simmesh::nn
