#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/autograd/checkpoint.h"
#include "core/tensor/tensor.h"

namespace simmesh::nn {

class Module;
using ModulePtr = std::shared_ptr<Module>;
using Tensors = std::vector<Tensor>;

// NamedTensor is a parameter or buffer with its dotted name.
using NamedTensor = std::pair<std::string, Tensor>;

// StateDict maps dotted names to tensors, in order of registration. The tensors alias those of the
// module.
using StateDict = std::vector<NamedTensor>;

// ParameterSlot is where a module keeps one parameter or buffer. Forward uses the tensor that is in
// the slot at that time.
struct ParameterSlot {
  std::string name;
  Tensor tensor;
};

// ModuleExtension is the state that a form of parallelism keeps with a module.
class ModuleExtension {
 public:
  virtual ~ModuleExtension() = default;
  // parameter_read tells it that the module or another one is about to use a parameter of the
  // module.
  virtual void parameter_read(const Module&, const ParameterSlot&) {}
  // forward_failed tells it that the module's forward raised, also where a recomputation ended
  // early.
  virtual void forward_failed(Module&) {}
};

// Module is a part of a model: parameters, buffers and modules below it, by name and in order of
// registration, and a forward that computes outputs from inputs. Calling it runs its hooks around
// forward, as in PyTorch.
//
//   struct Scale final : nn::Module {
//     Scale() { register_parameter("weight", ones({4}, DType::float32)); }
//     Tensors forward(const Tensors& in) override { return {mul(in[0], parameter("weight"))}; }
//   };
class Module {
 public:
  // PreHook may replace the inputs of a call; Hook its outputs.
  using PreHook = std::function<Tensors(Module& module, Tensors inputs)>;
  using Hook = std::function<Tensors(Module& module, const Tensors& inputs, Tensors outputs)>;

  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // forward computes the outputs. Call the module instead, which also runs its hooks.
  virtual Tensors forward(const Tensors& inputs) = 0;

  // call runs the pre-hooks, forward and the hooks.
  Tensors call(Tensors inputs);
  // operator() calls a module of one input and one output. Raises a RuntimeError for more outputs.
  Tensor operator()(const Tensor& input);

  // parameter and child return what was registered under the name. Raise a KeyError for an unknown
  // one. A parameter may be replaced.
  const Tensor& parameter(std::string_view name) const;
  void set_parameter(std::string_view name, Tensor tensor);
  Module& child(std::string_view name) const;
  // find returns the module at a dotted path; the empty path is this one.
  Module& find(std::string_view path);

  std::vector<ParameterSlot>& slots() { return parameters_; }
  const std::vector<ParameterSlot>& slots() const { return parameters_; }
  std::vector<ParameterSlot>& buffers() { return buffers_; }
  const std::vector<std::pair<std::string, ModulePtr>>& children() const { return children_; }

  // All of this module and those below it, depth first, a module before the ones below it. A module
  // or tensor that is registered twice comes once, under its first name.
  std::vector<std::pair<std::string, Module*>> named_modules();
  std::vector<NamedTensor> named_parameters();
  std::vector<Tensor> parameters();

  // state_dict returns parameters and buffers, tied ones under each of their names.
  StateDict state_dict();
  // load_state_dict copies values into the tensors of the same names. Raises a RuntimeError that
  // lists missing and unexpected names, and tensors of other shapes.
  void load_state_dict(const StateDict& state);

  // train sets the mode of this module and those below it; dropout only acts in training.
  void train(bool mode = true);
  bool is_training() const { return training_; }
  // set_requires_grad sets whether all parameters require gradients.
  void set_requires_grad(bool value);
  // zero_grad drops all gradients.
  void zero_grad();
  // to converts all floating parameters and buffers; they become new leaves.
  void to(DType dtype);
  // to_empty gives tensors of the meta device storage of undefined content.
  void to_empty();

  // checkpointing makes calls drop what forward saves and compute it again in backward. Hooks stay
  // outside of the recomputation.
  void set_checkpointing(std::optional<CheckpointOptions> options) { checkpointing_ = options; }

  void add_pre_hook(PreHook hook) { pre_hooks_.push_back(std::move(hook)); }
  // add_first_pre_hook adds a hook that runs before the existing ones.
  void add_first_pre_hook(PreHook hook) { pre_hooks_.insert(pre_hooks_.begin(), std::move(hook)); }
  void add_hook(Hook hook) { hooks_.push_back(std::move(hook)); }

  void set_extension(std::shared_ptr<ModuleExtension> extension) {
    extension_ = std::move(extension);
  }
  const std::shared_ptr<ModuleExtension>& extension() const { return extension_; }

 protected:
  // register_parameter adds a leaf, which requires a gradient where its dtype is floating; an
  // undefined tensor is an absent one. Names are unique in a module, without dots; others raise a
  // KeyError.
  void register_parameter(std::string name, Tensor tensor);
  void register_buffer(std::string name, Tensor tensor);
  Module& register_child(std::string name, ModulePtr child);

 private:
  Tensors run_forward(const Tensors& inputs);

  std::vector<ParameterSlot> parameters_, buffers_;
  std::vector<std::pair<std::string, ModulePtr>> children_;
  std::vector<PreHook> pre_hooks_;
  std::vector<Hook> hooks_;
  std::optional<CheckpointOptions> checkpointing_;
  std::shared_ptr<ModuleExtension> extension_;
  bool training_ = true;
};

// ParameterAdoption lets a function take each parameter that a module of this rank registers in its
// scope, and return the one to register instead. The innermost of nested scopes counts.
class ParameterAdoption {
 public:
  using Adopt =
      std::function<Tensor(Module& module, const std::string& name, const Tensor& parameter)>;

  explicit ParameterAdoption(Adopt adopt);
  ~ParameterAdoption();
  ParameterAdoption(const ParameterAdoption&) = delete;
  ParameterAdoption& operator=(const ParameterAdoption&) = delete;

 private:
  friend class Module;

  static const Adopt* active();

  Adopt adopt_;
  const Adopt* outer_;
};

// is_same_tensor is true if two are copies of one tensor, as tied parameters are.
bool is_same_tensor(const Tensor& a, const Tensor& b);

}  // namespace simmesh::nn
