#include "fsdp/state_dict/optimizer_state_dict.h"

#include <algorithm>
#include <optional>

#include "core/check/error.h"
#include "core/engine/ranks/rank.h"
#include "core/memory/ledger.h"
#include "core/tensor/known_tensor.h"
#include "fsdp/state_dict/load_source.h"
#include "fsdp/state_dict/state_dict.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view optimizer_state_source = "fsdp/optimizer_state_dict";
constexpr std::string_view state_prefix = "state.", group_prefix = "param_groups.";
constexpr std::string_view step_key = "step", rate_key = "lr";

// Returns the index of a model's parameter among the optimiser's parameters.
std::optional<std::size_t> index_in(const optim::Optimizer& optimizer, const Tensor& parameter) {
  const std::vector<Tensor>& held = optimizer.parameters();
  auto found = std::find_if(held.begin(), held.end(), [&](const Tensor& other) {
    return nn::is_same_tensor(other, parameter);
  });
  if (found == held.end()) return std::nullopt;
  return std::size_t(found - held.begin());
}

// A state tensor with the shape of its parameter has that parameter's placements.
std::optional<DTensorSpec> spec_of_state(const Tensor& parameter, DType dtype) {
  if (!parameter.distribution()) return std::nullopt;
  DTensorSpec spec = DTensor::of(parameter).spec();
  spec.dtype = dtype;
  return spec;
}

Tensor shown(const Tensor& parameter, const Tensor& kept, const GetOptimizerStateOptions& options) {
  Tensor tensor = kept.detach();
  bool is_cut = parameter.distribution() && kept.shape() == parameter.local_part().shape();
  if (is_cut && options.full_state_dict) {
    tensor = DTensor(*spec_of_state(parameter, kept.dtype()), tensor).full_tensor();
    is_cut = false;
  }
  if (options.cpu_offload) {
    Ledger::Uncharged host;
    tensor = tensor.clone();
  }
  return is_cut ? DTensor(*spec_of_state(parameter, kept.dtype()), tensor).as_tensor() : tensor;
}

bool keeps_nothing_here(const GetOptimizerStateOptions& options) {
  return options.full_state_dict && options.cpu_offload && this_rank().id() != 0;
}

template <class Value>
Tensor scalar_of(Value value) {
  Tensor scalar = empty(DimSpan(), dtype_of<Value>);
  if (scalar.has_elements()) scalar.mutable_values<Value>()[0] = value;
  return scalar;
}

bool ends_with_key(std::string_view path, std::string_view key) {
  return path.size() > key.size() && path.ends_with(key) &&
         path[path.size() - key.size() - 1] == '.';
}

OptimizerStateDict::Entry& entry_of(OptimizerStateDict& state, std::string_view parameter) {
  auto found = std::find_if(state.entries.begin(), state.entries.end(),
                            [&](const auto& entry) { return entry.parameter == parameter; });
  if (found != state.entries.end()) return *found;
  state.entries.push_back({.parameter = std::string(parameter)});
  return state.entries.back();
}

OptimizerStateDict from_rank_zero(const OptimizerStateDict& state) {
  LoadSource source(flattened(state), true);
  nn::StateDict flat;
  for (const LoadSource::Entry& entry : source.entries())
    flat.emplace_back(entry.name, source.value(entry));
  return unflattened(flat);
}

// Returns the part of a tensor that the rank keeps, in memory of its own.
Tensor kept_part(const Tensor& parameter, const Tensor& value) {
  Ledger::Category category(MemoryCategory::optimizer_state);
  bool is_like_parameter = value.shape() == parameter.shape();
  std::optional<DTensorSpec> spec = spec_of_state(parameter, value.dtype());
  return placed_as(is_like_parameter ? spec : std::nullopt, value).local_part().clone();
}

// Setter loads entry after entry, and then the learning rates of the groups.
class Setter {
 public:
  explicit Setter(optim::Optimizer& optimizer)
      : optimizer_(optimizer), rates_(optimizer.learning_rates().size()) {}

  void set(const std::string& name, const Tensor& parameter,
           const OptimizerStateDict::Entry& entry) {
    std::optional<std::size_t> index = index_in(optimizer_, parameter);
    if (!index)
      raise(ErrorKind::runtime_error, optimizer_state_source,
            "expected parameters that the optimiser has, got {}", name);
    std::map<std::string, Tensor> tensors;
    for (const auto& [key, value] : entry.tensors) tensors[key] = kept_part(parameter, value);
    optimizer_.load_state(*index, std::move(tensors), entry.steps);
    std::optional<double>& rate = rates_[optimizer_.group_of(*index)];
    if (rate && *rate != entry.learning_rate)
      raise(ErrorKind::runtime_error, optimizer_state_source,
            "expected one learning rate in each group of the optimiser, got {} and, for {}, {}",
            *rate, name, entry.learning_rate);
    rate = entry.learning_rate;
  }

  void finish() {
    std::vector<double> rates = optimizer_.learning_rates();
    for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = rates_[i].value_or(rates[i]);
    optimizer_.set_learning_rates(rates);
  }

 private:
  optim::Optimizer& optimizer_;
  std::vector<std::optional<double>> rates_;
};

}  // namespace

OptimizerStateDict get_optimizer_state_dict(nn::Module& model, const optim::Optimizer& optimizer,
                                            const GetOptimizerStateOptions& options) {
  state_dict(model);  // registers the shards
  OptimizerStateDict result;
  for (const auto& [name, parameter] : model.named_parameters()) {
    std::optional<std::size_t> index = index_in(optimizer, parameter);
    if (!index) continue;
    OptimizerStateDict::Entry entry{
        .parameter = name,
        .learning_rate = optimizer.learning_rates().at(optimizer.group_of(*index)),
        .steps = optimizer.steps(*index)};
    for (const auto& [key, kept] : optimizer.state(*index))
      entry.tensors[key] = shown(parameter, kept, options);
    if (!keeps_nothing_here(options)) result.entries.push_back(std::move(entry));
  }
  return result;
}

void set_optimizer_state_dict(nn::Module& model, optim::Optimizer& optimizer,
                              const OptimizerStateDict& state,
                              const SetOptimizerStateOptions& options) {
  if (options.broadcast_from_rank0)
    return set_optimizer_state_dict(model, optimizer, from_rank_zero(state));
  state_dict(model);  // registers the shards
  std::vector<nn::NamedTensor> parameters = model.named_parameters();
  Setter setter(optimizer);
  for (const OptimizerStateDict::Entry& entry : state.entries) {
    auto found =
        std::find_if(parameters.begin(), parameters.end(),
                     [&](const nn::NamedTensor& named) { return named.first == entry.parameter; });
    if (found == parameters.end())
      raise(ErrorKind::runtime_error, optimizer_state_source,
            "expected parameters of the model, got {}", entry.parameter);
    setter.set(entry.parameter, found->second, entry);
  }
  for (const nn::NamedTensor& named : parameters)
    if (index_in(optimizer, named.second) &&
        std::none_of(state.entries.begin(), state.entries.end(),
                     [&](const auto& entry) { return entry.parameter == named.first; }))
      raise(ErrorKind::runtime_error, optimizer_state_source,
            "expected the state of {}, which the optimiser has, got a state dict without it",
            named.first);
  setter.finish();
}

nn::StateDict flattened(const OptimizerStateDict& state) {
  nn::StateDict flat;
  for (const OptimizerStateDict::Entry& entry : state.entries) {
    std::string path = std::string(state_prefix) + entry.parameter + ".";
    for (const auto& [key, tensor] : entry.tensors) flat.emplace_back(path + key, tensor);
    flat.emplace_back(path + std::string(step_key), scalar_of(entry.steps));
    flat.emplace_back(std::string(group_prefix) + entry.parameter + "." + std::string(rate_key),
                      scalar_of(entry.learning_rate));
  }
  return flat;
}

OptimizerStateDict unflattened(const nn::StateDict& flat) {
  OptimizerStateDict state;
  for (const auto& [name, tensor] : flat) {
    std::string_view path = name;
    if (path.starts_with(group_prefix) && ends_with_key(path, rate_key)) {
      path.remove_prefix(group_prefix.size());
      path.remove_suffix(rate_key.size() + 1);
      entry_of(state, path).learning_rate = known_tensor(tensor, name).values<double>()[0];
      continue;
    }
    std::size_t dot = path.rfind('.');
    if (!path.starts_with(state_prefix) || dot <= state_prefix.size())
      raise(ErrorKind::value_error, optimizer_state_source,
            "expected keys state.PARAMETER.NAME and param_groups.PARAMETER.lr, got {}", name);
    std::string_view key = path.substr(dot + 1);
    OptimizerStateDict::Entry& entry =
        entry_of(state, path.substr(state_prefix.size(), dot - state_prefix.size()));
    if (key == step_key)
      entry.steps = known_tensor(tensor, name).values<std::int64_t>()[0];
    else
      entry.tensors[std::string(key)] = tensor;
  }
  return state;
}

}  // namespace simmesh::fsdp
