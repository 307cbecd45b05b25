#include "zero/stage3/gathered_parameters.h"

#include <algorithm>
#include <exception>

#include "core/check/error.h"
#include "zero/stage3/module_hooks.h"
#include "zero/stage3/stage3.h"

namespace simmesh::zero {

GatheredParameters::GatheredParameters(nn::Module& module,
                                       std::optional<std::int64_t> modifier_rank)
    : stage_(stage_of(module)),
      modifier_rank_(modifier_rank),
      exceptions_(std::uncaught_exceptions()) {
  if (!stage_) return;
  std::vector<ParamId> ids;
  for (const Tensor& parameter : module.parameters())
    ids.push_back(stage_->index().param_id(parameter));
  open(std::move(ids));
}

GatheredParameters::GatheredParameters(nn::Module& module, const std::vector<std::string>& names,
                                       std::optional<std::int64_t> modifier_rank)
    : stage_(stage_of(module)),
      modifier_rank_(modifier_rank),
      exceptions_(std::uncaught_exceptions()) {
  if (!stage_) return;
  std::vector<nn::NamedTensor> known = module.named_parameters();
  std::vector<ParamId> ids;
  for (const std::string& name : names) {
    auto found = std::find_if(known.begin(), known.end(),
                              [&name](const nn::NamedTensor& each) { return each.first == name; });
    if (found == known.end())
      raise(ErrorKind::key_error, "zero/gathered_parameters",
            "expected the name of a parameter, got {}", name);
    ids.push_back(stage_->index().param_id(found->second));
  }
  open(std::move(ids));
}

void GatheredParameters::open(std::vector<ParamId> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  stage_->open_scope(ids);
  params_ = std::move(ids);
}

void empty_partition_cache(nn::Module& module) {
  if (Stage3* stage = stage_of(module)) stage->coordinator().release_all();
}

GatheredParameters::~GatheredParameters() noexcept(false) {
  if (!stage_) return;
  if (std::uncaught_exceptions() > exceptions_)
    stage_->abandon_scope(params_);
  else
    stage_->close_scope(params_, modifier_rank_);
}

}  // namespace simmesh::zero
