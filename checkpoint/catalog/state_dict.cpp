#include "checkpoint/catalog/state_dict.h"

#include "core/check/error.h"

namespace simmesh::checkpoint {

StateDict::StateDict(const nn::StateDict& tensors, const std::string& prefix) {
  for (const auto& [name, tensor] : tensors) add(prefix + name, tensor);
}

void StateDict::append(const std::string& name, Value value, OnLoad on_load) {
  if (!places_.emplace(name, entries_.size()).second)
    raise(ErrorKind::value_error, "checkpoint/state_dict", "the name '{}' is there already", name);
  entries_.push_back({name, std::move(value), std::move(on_load)});
}

void StateDict::add(const std::string& name, Tensor tensor) { append(name, std::move(tensor)); }

void StateDict::add(const std::string& name, FlatShard shard) {
  if (shard.values.numel() != shard.range.numel() || shard.range.begin < 0 ||
      shard.range.end > numel(shard.shape))
    raise(ErrorKind::value_error, "checkpoint/state_dict",
          "'{}': {} values for the range [{}, {}) of a tensor of shape {}", name,
          shard.values.numel(), shard.range.begin, shard.range.end, to_string(shard.shape));
  append(name, std::move(shard));
}

void StateDict::add(const std::string& name, JsonValue value, OnLoad on_load) {
  append(name, std::move(value), std::move(on_load));
}

void StateDict::set_loaded(const std::string& name, const JsonValue& value) {
  Entry& entry = entries_[places_.at(name)];
  entry.value = value;
  if (entry.on_load) entry.on_load(value);
}

const StateDict::Value* StateDict::find(const std::string& name) const {
  auto found = places_.find(name);
  return found == places_.end() ? nullptr : &entries_[found->second].value;
}

std::int64_t StateDict::number(const std::string& name) const {
  const Value* value = find(name);
  const auto* json = value == nullptr ? nullptr : std::get_if<JsonValue>(value);
  const auto* number = json == nullptr ? nullptr : json->get<std::int64_t>();
  if (number == nullptr)
    raise(ErrorKind::key_error, "checkpoint/state_dict", "no integer '{}'", name);
  return *number;
}

}  // namespace simmesh::checkpoint
