#include "training/pipelined/stage_ranks.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <sstream>

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/check/join_text.h"
#include "core/engine/run/known.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/factories.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

namespace {

// One line for each tensor: name, dtype, number of dims, sizes.
std::string description_of(const std::vector<nn::NamedTensor>& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors)
    text += fmt::format("{} {} {} {}\n", name, to_string(tensor.dtype()), tensor.dim(),
                        join_text(tensor.shape(), " "));
  return text;
}

std::string bytes_of(const std::vector<nn::NamedTensor>& tensors) {
  std::string bytes;
  for (const auto& [name, tensor] : tensors) {
    Tensor values = tensor.contiguous();
    if (values.bytes() > 0)
      bytes.append(reinterpret_cast<const char*>(values.data()), values.bytes());
  }
  return bytes;
}

void add_tensors(const std::string& description, const std::string& bytes,
                 std::vector<nn::NamedTensor>& tensors) {
  std::istringstream lines(description);
  std::string name, dtype;
  std::size_t at = 0;
  for (std::size_t dims = 0; lines >> name >> dtype >> dims;) {
    Shape shape(dims);
    for (std::int64_t& size : shape) lines >> size;
    Tensor tensor = empty(shape, dtype_from_string(dtype));
    if (tensor.has_elements() && tensor.bytes() > 0)
      std::memcpy(tensor.mutable_data(), bytes.data() + at, tensor.bytes());
    at += tensor.bytes();
    tensors.emplace_back(name, std::move(tensor));
  }
}

// Returns the sum of a local gradient and that of another stage. One of them may be undefined.
Tensor sum_of(const Tensor& a, const Tensor& b) {
  if (!a.is_defined() || !b.is_defined()) return a.is_defined() ? a : b;
  return add(a, b);
}

Tensor with_local(const Tensor& gradient, const Tensor& local) {
  if (!gradient.distribution()) return local;
  return DTensor(DTensor::of(gradient).spec(), local).as_tensor();
}

}  // namespace

StageRanks::StageRanks(const Parts& parts)
    : parts_(parts), copies_(tied_copies(parts.model, parts.plan)) {}

bool StageRanks::counts(const std::string& name) const {
  return std::none_of(copies_.begin(), copies_.end(), [&](const TiedCopy& tied) {
    return name == tied.copy || name.starts_with(tied.copy + ".");
  });
}

std::vector<Tensor> StageRanks::counted(nn::Module& model) const {
  std::vector<Tensor> parameters;
  for (const auto& [name, parameter] : model.named_parameters())
    if (counts(name)) parameters.push_back(parameter);
  return parameters;
}

std::vector<OwnParameters> StageRanks::own(nn::Module& model,
                                           const std::vector<Tensor>& experts) const {
  std::vector<OwnParameters> lists;
  if (parts_.experts) lists.push_back({experts, *parts_.experts});
  lists.push_back({{}, parts_.group});
  for (const Tensor& parameter : counted(model))
    if (std::none_of(experts.begin(), experts.end(),
                     [&](const Tensor& expert) { return nn::is_same_tensor(expert, parameter); }))
      lists.back().parameters.push_back(parameter);
  return lists;
}

bool StageRanks::has(const std::string& name) const {
  return parts_.map.rank_of(parts_.plan.stage_of(name)) == parts_.group.rank();
}

void StageRanks::add_tied(nn::Module& model) const {
  NoGrad mode;
  KeepUnrounded scope;
  for (const TiedCopy& tied : copies_) add_tied(model, tied);
}

void StageRanks::add_tied(nn::Module& model, const TiedCopy& tied) const {
  bool has_copy = has(tied.copy), has_original = has(tied.original);
  if (!has_copy && !has_original) return;
  auto parameter_of = [&](const std::string& name) { return find_slot(model, name).tensor(); };
  if (has_copy && has_original) {
    Tensor copy = parameter_of(tied.copy), original = parameter_of(tied.original);
    Tensor total = sum_of(grad_of(copy), grad_of(original));
    set_grad(copy, total);
    set_grad(original, total);
    return;
  }
  std::int64_t first = parts_.map.rank_of(parts_.plan.stage_of(tied.copy));
  std::int64_t second = parts_.map.rank_of(parts_.plan.stage_of(tied.original));
  const RankList& members = parts_.group.members();
  ProcessGroup pair = ProcessGroup::of(
      RankList::of({members[std::min(first, second)], members[std::max(first, second)]}), "tied");
  Tensor parameter = parameter_of(has_copy ? tied.copy : tied.original);
  Tensor gradient = grad_of(parameter);
  Tensor local = gradient.is_defined() ? gradient.local_part().detach()
                                       : zeros(parameter.local_part().shape(), parameter.dtype());
  Tensor total = all_reduce(local, ReduceOp::sum, pair);
  set_grad(parameter, with_local(gradient.is_defined() ? gradient : parameter, total));
}

std::vector<nn::NamedTensor> StageRanks::complete(const std::vector<nn::NamedTensor>& own) const {
  Ledger::Uncharged host;
  std::vector<nn::NamedTensor> counted, all;
  for (const nn::NamedTensor& one : own)
    if (counts(one.first)) counted.push_back(one);
  std::string description = description_of(counted);
  std::string bytes = known_text("tensors of a stage", [&] { return bytes_of(counted); });
  for (std::int64_t owner = 0; owner < parts_.group.size(); ++owner) {
    std::string names = broadcast_object(description, owner, parts_.group);
    std::string values = broadcast_object(bytes, owner, parts_.group);
    add_tensors(names, values, all);
  }
  auto comes_first = [&](const nn::NamedTensor& a, const nn::NamedTensor& b) {
    return parts_.plan.index_of(a.first) < parts_.plan.index_of(b.first);
  };
  std::stable_sort(all.begin(), all.end(), comes_first);
  return all;
}

Tensor StageRanks::from_last(const Tensor& value) const {
  std::int64_t last = parts_.map.rank_of(parts_.plan.stages - 1);
  return broadcast(value, last, parts_.group);
}

Tensor StageRanks::sum(const Tensor& value) const {
  return all_reduce(value, ReduceOp::sum, parts_.group);
}

}  // namespace simmesh
