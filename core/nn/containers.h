#pragma once

#include "core/nn/module.h"

namespace simmesh::nn {

// NamedModule is a child with its name.
using NamedModule = std::pair<std::string, ModulePtr>;

// Sequential calls its children one after another, each on what the one before returned. With call
// names given, those are called in that order: a child may come twice, or never.
class Sequential : public Module {
 public:
  explicit Sequential(std::vector<NamedModule> children, std::vector<std::string> calls = {});
  Tensors forward(const Tensors& inputs) override;

 private:
  std::vector<std::string> calls_;
};

// Residual computes x + sequential(x).
class Residual final : public Sequential {
 public:
  using Sequential::Sequential;
  Tensors forward(const Tensors& inputs) override;
};

// Fan calls every child on x and returns all results.
class Fan final : public Module {
 public:
  explicit Fan(std::vector<NamedModule> children);
  Tensors forward(const Tensors& inputs) override;
};

// Add calls every child on x and adds the results, first to last.
class Add final : public Module {
 public:
  explicit Add(std::vector<NamedModule> children);
  Tensors forward(const Tensors& inputs) override;
};

// ModuleList holds modules that others call. Calling it raises a NotImplementedError.
class ModuleList final : public Module {
 public:
  explicit ModuleList(std::vector<NamedModule> children);
  Tensors forward(const Tensors& inputs) override;
};

}  // namespace simmesh::nn
