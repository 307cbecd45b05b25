#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/autograd/variable.h"
#include "core/nn/module.h"
#include "core/tensor/formula.h"
#include "zero/stage3/partitioned_param.h"
#include "zero/stage3/partitioned_params.h"

namespace simmesh::zero {

// CutParameters are parameters of the given numbers of elements, of a module without a computation,
// that stage 3 has cut over the world: for tests of what works on them. A rank makes its own.
struct CutParameters {
  struct Slots final : nn::Module {
    void add(const std::string& name, Tensor tensor) {
      register_parameter(name, std::move(tensor));
    }
    nn::Tensors forward(const nn::Tensors& inputs) override { return inputs; }
  };

  CutParameters(const std::vector<std::int64_t>& numels, const GatherOptions& options,
                bool requires_grad = false) {
    PartitionGroups groups{.all = ProcessGroup::world()};
    std::vector<std::shared_ptr<PartitionedParam>> made;
    for (std::size_t i = 0; i < numels.size(); ++i) {
      std::string name = "p" + std::to_string(i);
      Tensor whole = formula({numels[i]}, {.rule = Rule::wide, .seed = i});
      set_requires_grad(whole, requires_grad);
      module.add(name, whole);
      made.push_back(std::make_shared<PartitionedParam>(name, whole, groups));
      made.back()->register_at({{&module, name}});
      ids.push_back(ParamId(i));
    }
    params = std::make_unique<PartitionedParams>(std::move(made), groups, options);
  }

  Slots module;
  std::vector<ParamId> ids;
  std::unique_ptr<PartitionedParams> params;
};

}  // namespace simmesh::zero
