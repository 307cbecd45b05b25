#include "fsdp/event.h"

#include <fmt/format.h>

#include "core/engine/rank.h"
#include "fsdp/param_group.h"
#include "fsdp/state.h"

namespace simmesh::fsdp {

namespace {

struct Observers {
  std::vector<Observer> list;
};

std::vector<Observer>& observers() { return this_rank().state<Observers>().list; }

std::string path_of(nn::Module& model, const nn::Module* module) {
  for (auto& [name, known] : model.named_modules())
    if (known == module) return name;
  return "?";
}

void add_collective(EventFields& fields, const Event& event) {
  fields.emplace_back(event.input.element_count());
  if (event.kind != EventKind::all_reduce) fields.emplace_back(event.output_numel);
  fields.emplace_back(event.group_size);
  fields.emplace_back(std::string(to_string(event.input.dtype())));
  if (event.kind != EventKind::all_gather) fields.emplace_back(std::string(to_string(event.op)));
}

}  // namespace

std::string_view to_string(TrainingState state) {
  static constexpr std::string_view names[] = {"idle", "forward", "pre_backward", "post_backward"};
  return names[std::size_t(state)];
}

std::string_view to_string(ShardedState state) {
  static constexpr std::string_view names[] = {"sharded", "sharded_post_forward", "unsharded"};
  return names[std::size_t(state)];
}

std::string_view to_string(EventKind kind) {
  static constexpr std::string_view names[] = {"lazy_init",
                                               "group_lazy_init",
                                               "reset_sharded_param",
                                               "forward_root",
                                               "unshard",
                                               "all_gather",
                                               "wait",
                                               "prefetch",
                                               "reshard",
                                               "record_post_forward",
                                               "pre_backward",
                                               "post_backward",
                                               "reduce_scatter",
                                               "all_reduce",
                                               "root_callback",
                                               "finalize"};
  return names[std::size_t(kind)];
}

ObserverScope::ObserverScope(Observer observer) { observers().push_back(std::move(observer)); }

ObserverScope::~ObserverScope() { observers().pop_back(); }

void emit(const Event& event) {
  if (!in_rank() || observers().empty()) return;
  for (const Observer& observer : std::vector(observers())) observer(event);
}

std::string name_of(const FSDPState& state, nn::Module& model) {
  std::string name;
  for (const nn::Module* module : state.modules()) {
    if (!name.empty()) name += ", ";
    name += path_of(model, module);
  }
  return name;
}

std::string name_of(const FSDPParamGroup& group, nn::Module& model) {
  std::string name = name_of(group.state(), model);
  const auto& groups = group.state().groups();
  for (std::size_t i = 0; groups.size() > 1 && i < groups.size(); ++i)
    if (groups[i].get() == &group) name += fmt::format("#{}", i);
  return name;
}

std::string name_of(const FSDPParam& param, nn::Module& model) {
  std::string path = path_of(model, param.slots().owner.module);
  return path.empty() ? param.slots().owner.name : path + "." + param.slots().owner.name;
}

EventFields fields_of(const Event& event, nn::Module& model) {
  EventFields fields = {std::string(to_string(event.kind))};
  auto text = [&](std::string_view value) { fields.emplace_back(std::string(value)); };
  if (event.group) text(name_of(*event.group, model));
  if (event.param) text(name_of(*event.param, model));
  if (event.state && event.kind != EventKind::prefetch) text(name_of(*event.state, model));
  if (!event.training.empty()) text(event.training);
  if (!event.detail.empty()) text(event.detail);
  switch (event.kind) {
    case EventKind::prefetch: text(name_of(*event.state, model)); break;
    case EventKind::record_post_forward: fields.emplace_back(event.index); break;
    case EventKind::all_gather:
    case EventKind::reduce_scatter:
    case EventKind::all_reduce: add_collective(fields, event); break;
    default: break;
  }
  return fields;
}

std::string to_string(const EventFields& fields) {
  std::string text = "(";
  for (const EventField& field : fields) {
    if (text.size() > 1) text += ", ";
    if (const auto* name = std::get_if<std::string>(&field))
      text += *name;
    else
      text += fmt::format("{}", std::get<std::int64_t>(field));
  }
  return text + ")";
}

}  // namespace simmesh::fsdp
