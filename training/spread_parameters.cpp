#include "training/spread_parameters.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "collectives/collectives.h"
#include "core/check/check.h"
#include "core/check/join_text.h"

namespace simmesh {

namespace {

// One line for each tensor: name, dtype, number of dims, sizes.
std::string described(const std::vector<nn::NamedTensor>& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors)
    text += fmt::format("{} {} {} {}\n", name, to_string(tensor.dtype()), tensor.dim(),
                        join_text(tensor.shape(), " "));
  return text;
}

std::vector<nn::NamedTensor> empty_tensors(const std::string& description) {
  std::vector<nn::NamedTensor> tensors;
  std::istringstream lines(description);
  std::string name, dtype;
  for (std::size_t dims = 0; lines >> name >> dtype >> dims;) {
    Shape shape(dims);
    for (std::int64_t& size : shape) lines >> size;
    tensors.emplace_back(name, empty(shape, dtype_from_string(dtype)));
  }
  return tensors;
}

// Returns the list of a rank of the group; the lists of the others are ignored.
std::vector<nn::NamedTensor> received(const std::vector<nn::NamedTensor>& own, std::int64_t owner,
                                      const ProcessGroup& group) {
  std::string description = broadcast_object(described(own), owner, group);
  std::vector<nn::NamedTensor> tensors = group.rank() == owner ? own : empty_tensors(description);
  for (auto& [name, tensor] : tensors) tensor = broadcast(tensor, owner, group);
  return tensors;
}

}  // namespace

SpreadParameters::SpreadParameters(nn::Module& model, const Spread& is_spread,
                                   const ProcessGroup& group)
    : group_(group) {
  for (const auto& [name, parameter] : model.named_parameters())
    places_[name] = {places_.size(), is_spread(name)};
}

const SpreadParameters::Place& SpreadParameters::place_of(const std::string& name) const {
  auto found = places_.find(name);
  if (found == places_.end()) found = places_.find(name.substr(0, name.rfind('.')));
  SIMMESH_CHECK(found != places_.end(), "expected a tensor of a parameter, got '{}'", name);
  return found->second;
}

OwnParameters SpreadParameters::own(nn::Module& model) const {
  OwnParameters result{{}, group_};
  for (const auto& [name, parameter] : model.named_parameters())
    if (place_of(name).is_spread) result.parameters.push_back(parameter);
  return result;
}

std::vector<nn::NamedTensor> SpreadParameters::complete(
    const std::vector<nn::NamedTensor>& tensors) const {
  Ledger::Uncharged host;
  std::vector<nn::NamedTensor> all, own;
  for (const nn::NamedTensor& one : tensors)
    (place_of(one.first).is_spread ? own : all).push_back(one);
  for (std::int64_t owner = 0; owner < group_.size(); ++owner)
    for (nn::NamedTensor& one : received(own, owner, group_)) all.push_back(std::move(one));
  auto comes_first = [&](const nn::NamedTensor& a, const nn::NamedTensor& b) {
    return place_of(a.first).index < place_of(b.first).index;
  };
  std::stable_sort(all.begin(), all.end(), comes_first);
  return all;
}

}  // namespace simmesh
