#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "fsdp/param/param_name.h"
#include "fsdp/state/state.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view lazy_init_source = "fsdp/lazy_init";

}  // namespace

void FSDPState::lazy_init() {
  if (is_root_) return;
  emit({.kind = EventKind::lazy_init, .state = this});
  if (modules_.size() > 1)
    raise(ErrorKind::runtime_error, lazy_init_source,
          "FSDP requires a single root module but got one of {} modules", modules_.size());
  check_manual_root();
  is_root_ = true;
  adopt_children();
  if (auto_reshard_)
    for (auto& group : groups_) group->set_reshard_after_forward(false);
  check_shared_params();
  comm_->streams().make();
  for (FSDPState* state : context_->all_states)
    for (auto& group : state->groups_) state->init_group(*group);
}

void FSDPState::init_group(FSDPParamGroup& group) {
  emit({.kind = EventKind::group_lazy_init, .group = &group});
  group.read_params();
  // The path of the first module is looked up once, since most parameters are below it.
  nn::Module& own = *modules_.front();
  std::string path;
  for (const FSDPState* root : context_->all_states)
    if (root->is_root_.value_or(false)) path = path_of(own, *root->modules_.front());
  if (!path.empty()) path += ".";
  for (const auto& param : group.params()) {
    std::string name = name_of(*param, own);
    param->set_name(name.starts_with('?') ? fqn_of(*param) : path + name);
  }
  check_not_meta(group);
  group.settle_dtypes();
}

void FSDPState::check_not_meta(const FSDPParamGroup& group) const {
  std::vector<std::string> names;
  for (const auto& param : group.params())
    if (param->sharded_param().local_part().is_meta()) names.push_back(fqn_of(*param));
  if (!names.empty())
    raise(ErrorKind::runtime_error, lazy_init_source,
          "FSDP parameters should be materialized from meta device before training, but the "
          "following were still on meta device: {}",
          join_text(names, ", "));
}

// Gives all states below this one's contexts.
void FSDPState::adopt_children() {
  std::vector<FSDPState*>& states = context_->all_states;
  for (auto& [name, module] : modules_.front()->named_modules()) {
    std::shared_ptr<FSDPState> state = of(*module);
    if (!state || std::find(states.begin(), states.end(), state.get()) != states.end()) continue;
    if (state.get() != this && state->is_root_)
      raise(ErrorKind::runtime_error, lazy_init_source,
            "FSDP state has already been lazily initialized for {}. FSDP requires running forward "
            "through the root module first",
            name);
    states.push_back(state.get());
    state->set_site(
        labelled(state->site(), "fully_shard of " + (name.empty() ? "the root" : name)));
  }
  for (FSDPState* state : states) {
    if (state == this) continue;
    state->is_root_ = false;
    state->context_ = context_;
    state->set_comm_context(comm_);
  }
}

// Slots that were tied before sharding have the same origin.
void FSDPState::check_shared_params() const {
  std::vector<std::pair<const FSDPParam*, const FSDPState*>> seen;
  for (const FSDPState* state : context_->all_states) {
    for (auto& group : state->groups_) {
      for (auto& param : group->params()) {
        for (auto& [other, owner] : seen)
          if (other->origin() && other->origin() == param->origin())
            raise(ErrorKind::value_error, lazy_init_source,
                  "expected shared parameters in one FSDP group, got {} and {}, which are the same "
                  "parameter, in two",
                  fqn_of(*other), fqn_of(*param));
        seen.emplace_back(param.get(), state);
      }
    }
  }
}

// Returns a parameter's name below the root.
std::string FSDPState::fqn_of(const FSDPParam& param) const {
  for (const FSDPState* root : context_->all_states)
    if (root->is_root_.value_or(false)) return name_of(param, *root->modules_.front());
  return name_of(param, *modules_.front());
}

}  // namespace simmesh::fsdp
