#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/nn/module.h"
#include "fsdp/param/event.h"

namespace simmesh::fsdp {

// EventFields is an event as a list, as recorded cases and gate files have it: its kind, then names
// and numbers.
using EventField = std::variant<std::string, std::int64_t>;
using EventFields = std::vector<EventField>;

// fields_of returns an event's fields, with names as the model has them: a group's is its modules'
// names joined by ", ", followed by "#i" where its modules have several groups.
EventFields fields_of(const Event& event, nn::Module& model);
// name_of returns that name of a group or state.
std::string name_of(const FSDPParamGroup& group, nn::Module& model);
std::string name_of(const FSDPState& state, nn::Module& model);

// to_string returns "(unshard, layers.0, forward, sync)".
std::string to_string(const EventFields& fields);

}  // namespace simmesh::fsdp
