#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/nn/module.h"
#include "zero/fetch/fetch_graph.h"

namespace simmesh::zero {

class Stage3;

// ModuleHooks let the forward and backward of a model's modules drive its stage 3: around each
// forward, when an output receives its gradient, when all inputs of a call have received theirs,
// and when the gradient of a parameter is ready. Hooks that they put on the modules do nothing once
// they are destroyed.
//
// Gradients of a leaf module's parameters are reduced together when the last of its calls has run
// backward, or at the end of backward where that can't be detected; those that don't come are
// zeros.
class ModuleHooks : public std::enable_shared_from_this<ModuleHooks> {
 public:
  explicit ModuleHooks(Stage3& stage);
  // install puts hooks on the modules of a stage, which keeps them.
  static void install(Stage3& stage);

  Stage3& stage() const { return stage_; }

  // end_backward passes on the gradients that leaf modules still keep.
  void end_backward();

 private:
  struct Leaf {
    std::vector<ParamId> params;  // that require a gradient and are used nowhere else
    std::int64_t calls = 0;       // forwards whose backward has not run
    bool has_begun = false;       // it was entered backward, or a gradient came
  };

  void put_on_modules();
  void put_on_parameters();
  nn::Tensors before_forward(ModuleId module, nn::Tensors inputs);
  nn::Tensors after_forward(ModuleId module, nn::Tensors outputs);
  void failed(ModuleId module);
  void read(const nn::ParameterSlot& slot);
  void find_returned(const nn::Tensors& outputs);
  void watch_inputs(ModuleId module, nn::Tensors& inputs);
  void watch_outputs(ModuleId module, nn::Tensors& outputs);
  void enter_backward(ModuleId module);
  void leave_backward(ModuleId module);
  void gradient_came(ParamId param, Tensor& leaf);
  void pass_on(Leaf& leaf);

  Stage3& stage_;
  std::vector<ModuleId> running_;                 // forwards, the innermost last
  std::map<const Storage*, ParamId> by_storage_;  // only looked up
  std::map<ModuleId, Leaf> leaves_;
  std::vector<ModuleId> leaf_of_;  // by parameter; -1 for none
  std::vector<Tensor> kept_;       // gradients of leaf modules, by parameter
};

// stage_of returns the stage 3 that a module belongs to; null for none.
Stage3* stage_of(const nn::Module& module);

}  // namespace simmesh::zero
