#include "fsdp/state/event_fields.h"

#include <fmt/format.h>

#include "fsdp/param/param_name.h"
#include "fsdp/state/state.h"

namespace simmesh::fsdp {

namespace {

std::string_view reshard_cause(const Event& event) {
  return event.by_state_dict ? "state_dict" : to_string(event.training.value());
}

// FieldList appends the fields of one event.
class FieldList {
 public:
  FieldList(const Event& event, nn::Module& model) : event_(event), model_(model) {
    add(to_string(event.kind));
    if (event.group) add(name_of(*event.group, model));
    if (event.param) add(name_of(*event.param, model));
  }

  EventFields take() {
    switch (event_.kind) {
      case EventKind::unshard:
        add(to_string(event_.training.value()));
        add(event_.is_async ? "async" : "sync");
        break;
      case EventKind::wait: add(to_string(event_.training.value())); break;
      case EventKind::prefetch:
        add(to_string(event_.pass));
        add(name_of(*event_.state, model_));
        break;
      case EventKind::reshard:
        add(reshard_cause(event_));
        add(to_string(event_.becomes));
        break;
      case EventKind::finalize: add(event_.drops_gather ? "drops_gather" : "clean"); break;
      case EventKind::record_post_forward: fields_.emplace_back(event_.index); break;
      case EventKind::all_gather:
      case EventKind::reduce_scatter:
      case EventKind::all_reduce: add_collective(); break;
      default:
        if (event_.state) add(name_of(*event_.state, model_));
    }
    return std::move(fields_);
  }

 private:
  void add(std::string_view text) { fields_.emplace_back(std::string(text)); }

  void add_collective() {
    fields_.emplace_back(event_.input.numel());
    if (event_.kind != EventKind::all_reduce) fields_.emplace_back(event_.output_numel);
    fields_.emplace_back(event_.group_size);
    add(to_string(event_.input.dtype()));
    if (event_.kind != EventKind::all_gather) add(to_string(event_.op));
  }

  const Event& event_;
  nn::Module& model_;
  EventFields fields_;
};

}  // namespace

std::string name_of(const FSDPState& state, nn::Module& model) {
  std::string name;
  for (const nn::Module* module : state.modules()) {
    if (!name.empty()) name += ", ";
    name += path_of(*module, model);
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

EventFields fields_of(const Event& event, nn::Module& model) {
  return FieldList(event, model).take();
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
