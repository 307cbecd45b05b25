#include "training/expert_calls.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "core/nn/moe.h"
#include "core/tensor/known_tensor.h"
#include "core/tensor/vector_of.h"

namespace simmesh {

ExpertCalls::ExpertCalls(nn::Module& model)
    : calls_(std::make_shared<std::vector<std::int64_t>>()) {
  for (const auto& [path, module] : model.named_modules()) {
    if (!dynamic_cast<nn::Moe*>(module)) continue;
    std::string prefix = path.empty() ? "experts." : path + ".experts.";
    for (const auto& [name, expert] : module->child("experts").children()) {
      std::vector<std::string> parameters;
      for (const auto& [below, parameter] : expert->named_parameters()) {
        parameters.push_back(prefix);
        parameters.back().append(name).append(".").append(below);
      }
      if (parameters.empty()) continue;
      expert->add_pre_hook([calls = calls_, i = experts_.size()](nn::Module&, nn::Tensors inputs) {
        if (inputs[0].size(0) > 0) ++(*calls)[i];
        return inputs;
      });
      experts_.push_back({expert, std::move(parameters)});
    }
  }
  calls_->assign(experts_.size(), 0);
}

std::vector<ExpertCalls::Expert> ExpertCalls::take_uncalled(const ProcessGroup& group) {
  std::vector<Expert> uncalled;
  if (experts_.empty()) return uncalled;
  Tensor total = vector_of<std::int64_t>(*calls_);
  if (group.size() > 1) total = all_reduce(total, ReduceOp::sum, group);
  std::fill(calls_->begin(), calls_->end(), 0);
  total = known_tensor(total, "calls of experts");
  if (!total.has_elements()) return uncalled;
  auto calls = total.values<std::int64_t>();
  for (std::size_t i = 0; i < experts_.size(); ++i)
    if (calls[i] == 0) uncalled.push_back(experts_[i]);
  return uncalled;
}

std::set<std::string> ExpertCalls::take_unused(const ProcessGroup& group) {
  std::set<std::string> unused;
  for (const Expert& expert : take_uncalled(group))
    unused.insert(expert.parameters.begin(), expert.parameters.end());
  return unused;
}

}  // namespace simmesh
