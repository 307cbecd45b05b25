#include "fsdp/state_dict/load_source.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view cut_tensor = "cut";

// Returns one line an entry: name, dtype, and the sizes.
std::string description_of(const nn::StateDict& state) {
  std::string text;
  for (const auto& [name, tensor] : state) {
    text +=
        name + " " + std::string(tensor.distribution() ? cut_tensor : to_string(tensor.dtype()));
    for (std::int64_t size : tensor.shape()) text += fmt::format(" {}", size);
    text += "\n";
  }
  return text;
}

std::vector<LoadSource::Entry> entries_from(const std::string& description) {
  std::vector<LoadSource::Entry> entries;
  std::istringstream lines(description);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    LoadSource::Entry entry;
    std::string dtype;
    fields >> entry.name >> dtype;
    if (dtype == cut_tensor)
      raise(ErrorKind::value_error, "fsdp/load_source",
            "expected whole tensors on rank 0, which are broadcast, got a DTensor as {}",
            entry.name);
    entry.dtype = dtype_from_string(dtype);
    for (std::int64_t size = 0; fields >> size;) entry.shape.push_back(size);
    entries.push_back(std::move(entry));
  }
  return entries;
}

const Tensor& tensor_named(const nn::StateDict& state, const std::string& name) {
  return std::find_if(state.begin(), state.end(),
                      [&](const nn::NamedTensor& entry) { return entry.first == name; })
      ->second;
}

}  // namespace

LoadSource::LoadSource(nn::StateDict state, bool from_rank_zero)
    : state_(std::move(state)), from_rank_zero_(from_rank_zero) {
  if (from_rank_zero_) {
    ProcessGroup world = ProcessGroup::world();
    std::string own = world.rank() == 0 ? description_of(state_) : std::string();
    entries_ = entries_from(broadcast_object(own, 0, world));
    return;
  }
  for (const auto& [name, tensor] : state_)
    entries_.push_back({name, tensor.dtype(), tensor.shape()});
}

const LoadSource::Entry* LoadSource::find(const std::string& name) const {
  auto found = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

Tensor LoadSource::value(const Entry& entry) const {
  if (!from_rank_zero_) return tensor_named(state_, entry.name);
  ProcessGroup world = ProcessGroup::world();
  Ledger::Category category(MemoryCategory::communication);
  Tensor own = world.rank() == 0 ? tensor_named(state_, entry.name).detach().contiguous()
                                 : empty(DimSpan(entry.shape), entry.dtype);
  return broadcast(own, 0, world);
}

Tensor placed_as(const std::optional<DTensorSpec>& spec, const Tensor& value) {
  if (!spec) return value;
  Tensor whole = value.detach();
  if (value.distribution()) {
    DTensor given = DTensor::of(value);
    bool is_on_mesh = given.mesh() == spec->mesh();
    if (is_on_mesh && given.spec().sharding == spec->sharding) return value;
    if (is_on_mesh)
      return given.redistribute(spec->placements(), {.order = spec->sharding.order}).as_tensor();
    whole = given.full_tensor();
  }
  return distribute_tensor(whole, spec->mesh(), spec->placements(),
                           {.from_first_rank = false, .order = spec->sharding.order})
      .as_tensor();
}

}  // namespace simmesh::fsdp
