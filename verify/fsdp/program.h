#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/optim/sgd.h"
#include "fsdp/fsdp_module.h"
#include "training/fsdp_plan.h"
#include "verify/case_tensor.h"

namespace simmesh {

// InputPlan is the input of a forward step: a tensor by formula, or part of an earlier output.
struct InputPlan {
  CaseTensor tensor;
  bool requires_grad = false;
  std::string from;
  std::int64_t chunk = 0, chunks = 1;
  bool detach = false;
};

// ProgramStep is one step of a recorded program. Which fields count depends on the act; names and
// meanings are those of tests/cases/fsdp/README.md.
struct ProgramStep {
  std::string act;
  std::string module, as, what, kind, method;
  InputPlan input;
  bool grad = true;
  std::vector<std::string> of, targets, modules, params, keys;
  std::vector<std::int64_t> outs;
  bool retain = false, async = false, expect_error = false, assign = false, strict = true;
  bool has_keys = false, on_stream = false;
  PlainValue value;
  std::optional<bool> recurse;
  double lr = 0.0;
  DType dtype = DType::float32;
  std::uint64_t seed_add = 0;
};

// ProgramRun runs steps on one rank.
class ProgramRun {
 public:
  explicit ProgramRun(ShardedModel& model) : model_(&model) {}

  // run does one step. Raises the error of the step, unless the step expects it.
  void run(const ProgramStep& step);

  nn::Module& model() const { return model_->model(); }
  // state_dicts are the state dicts taken so far, and under "loaded" the one that was loaded last.
  const std::map<std::string, nn::StateDict>& state_dicts() const { return state_dicts_; }
  const optim::Optimizer* optimizer() const { return optimizer_.get(); }

 private:
  void act(const ProgramStep& step);
  bool act_on_module(const ProgramStep& step);
  bool act_on_state(const ProgramStep& step);
  Tensor input_of(const ProgramStep& step) const;
  void forward(const ProgramStep& step);
  void backward(const ProgramStep& step);
  void load(const ProgramStep& step);
  void fill();
  Tensor values_of(const std::string& name, std::uint64_t seed_add) const;
  std::vector<nn::Module*> modules_at(const std::vector<std::string>& paths) const;

  ShardedModel* model_;
  std::map<std::string, nn::Tensors> outputs_;
  std::map<std::string, fsdp::UnshardHandle> handles_;
  std::map<std::string, nn::StateDict> state_dicts_;
  std::unique_ptr<optim::Sgd> optimizer_;
};

}  // namespace simmesh
