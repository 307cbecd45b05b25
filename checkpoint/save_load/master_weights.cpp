#include "checkpoint/save_load/master_weights.h"

#include <fmt/format.h>
#include <optional>

namespace simmesh::checkpoint {

namespace {

constexpr std::string_view model_prefix = "model.", master_prefix = "master.";

// Returns the name that may stand in a checkpoint for a name that it doesn't have.
std::optional<std::string> stand_in(std::string_view name) {
  if (name.starts_with(model_prefix))
    return std::string(master_prefix).append(name.substr(model_prefix.size()));
  if (name.starts_with(master_prefix))
    return std::string(model_prefix).append(name.substr(master_prefix.size()));
  return std::nullopt;
}

std::string cast_to(const StateDict& state, const std::string& name) {
  const StateDict::Value* value = state.find(name);
  if (value == nullptr) return "";
  std::optional<DType> dtype;
  if (const auto* tensor = std::get_if<Tensor>(value)) dtype = tensor->dtype();
  if (const auto* shard = std::get_if<FlatShard>(value)) dtype = shard->values.dtype();
  return dtype ? fmt::format(", dtype=\"{}\"", to_string(*dtype)) : "";
}

}  // namespace

std::vector<std::string> master_statements(const StateDict& state,
                                           const std::set<std::string>& wanted,
                                           const Catalog& catalog) {
  std::set<std::string> stored;
  for (const StoredTensor& tensor : catalog.tensors)
    if (tensor_dtype(tensor.dtype)) stored.insert(tensor.name);
  std::vector<std::string> statements;
  for (const std::string& name : wanted) {
    if (stored.contains(name)) continue;
    std::optional<std::string> other = stand_in(name);
    if (!other || !stored.contains(*other) || wanted.contains(*other)) continue;
    statements.push_back(fmt::format("{} -> {}{}", *other, name, cast_to(state, name)));
  }
  return statements;
}

}  // namespace simmesh::checkpoint
