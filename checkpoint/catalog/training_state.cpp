#include "checkpoint/catalog/training_state.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/check/error.h"
#include "fsdp/state_dict/state_dict.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::checkpoint {

namespace {

constexpr const char* rates_name = "optim.lr";

std::string state_name(const std::string& parameter, const std::string& key) {
  return "optim." + parameter + "." + key;
}

// Returns the index of a tensor among an optimiser's parameters.
std::optional<std::size_t> index_among(const std::vector<Tensor>& tensors, const Tensor& tensor) {
  auto found = std::find_if(tensors.begin(), tensors.end(),
                            [&](const Tensor& other) { return nn::is_same_tensor(other, tensor); });
  if (found == tensors.end()) return std::nullopt;
  return std::size_t(found - tensors.begin());
}

JsonValue list_of(const std::vector<double>& numbers) {
  JsonValue::List list;
  for (double number : numbers) list.push_back(JsonValue(number));
  return {std::move(list)};
}

std::int64_t integer_of(const std::string& name, const JsonValue& value) {
  const auto* number = value.get<std::int64_t>();
  if (number == nullptr)
    raise(ErrorKind::value_error, "checkpoint/load", "'{}': expected an integer, got {}", name,
          value.text(40));
  return *number;
}

std::vector<double> numbers_of(const std::string& name, const JsonValue& value) {
  std::vector<double> numbers;
  if (const auto* list = value.get<JsonValue::List>())
    for (const JsonValue& entry : *list) {
      if (const auto* number = entry.get<double>()) numbers.push_back(*number);
      if (const auto* whole_number = entry.get<std::int64_t>())
        numbers.push_back(double(*whole_number));
    }
  if (numbers.empty())
    raise(ErrorKind::value_error, "checkpoint/load", "'{}': expected a list of numbers, got {}",
          name, value.text(40));
  return numbers;
}

// Returns the tensors that an optimiser keeps for a parameter. Makes them, of zeros, if there are
// none.
std::map<std::string, Tensor> kept_tensors(optim::Optimizer& optimizer, std::size_t index) {
  std::map<std::string, Tensor> kept = optimizer.state(index);
  for (const std::string& key : optimizer.state_names(index))
    if (!kept.contains(key)) kept[key] = optimizer.new_state(index, key);
  return kept;
}

// Adds the state that an optimiser keeps for a parameter. `as_value` wraps a tensor as a value.
template <class AsValue>
void add_kept(StateDict& state, optim::Optimizer& optimizer, std::size_t index,
              const std::string& parameter, const AsValue& as_value) {
  std::map<std::string, Tensor> kept = kept_tensors(optimizer, index);
  for (const auto& [key, tensor] : kept) {
    std::string name = state_name(parameter, key);
    std::visit([&](auto value) { state.add(name, std::move(value)); },
               StateDict::Value(as_value(tensor)));
  }
  std::string steps = state_name(parameter, "step");
  // A parameter has no state before its first step.
  state.add(steps, JsonValue(optimizer.steps(index)),
            [&optimizer, index, steps, kept](const JsonValue& value) {
              std::int64_t count = integer_of(steps, value);
              optimizer.load_state(index, count > 0 ? kept : std::map<std::string, Tensor>(),
                                   count);
            });
}

void add_rates(StateDict& state, optim::Optimizer& optimizer) {
  state.add(rates_name, list_of(optimizer.learning_rates()), [&](const JsonValue& value) {
    optimizer.set_learning_rates(numbers_of(rates_name, value));
  });
}

}  // namespace

std::vector<nn::NamedTensor> named_buffers(nn::Module& model) {
  std::vector<nn::NamedTensor> buffers;
  for (const auto& [path, module] : model.named_modules())
    for (const nn::ParameterSlot& slot : module->buffers())
      if (slot.tensor.is_defined())
        buffers.emplace_back(path.empty() ? slot.name : path + "." + slot.name, slot.tensor);
  return buffers;
}

StateDict state_dict(nn::Module& model, optim::Optimizer& optimizer) {
  StateDict state;
  // Reshards all groups.
  fsdp::state_dict(model);
  std::vector<nn::NamedTensor> parameters = model.named_parameters();
  for (const auto& [name, parameter] : parameters) state.add("model." + name, parameter);
  for (const auto& [name, buffer] : named_buffers(model)) state.add("model." + name, buffer);
  for (const nn::NamedTensor& named : parameters) {
    const Tensor& parameter = named.second;
    auto index = index_among(optimizer.parameters(), parameter);
    if (!index || !parameter.requires_grad()) continue;
    add_kept(state, optimizer, *index, named.first, [&](const Tensor& tensor) {
      if (!parameter.distribution() || tensor.shape() != parameter.local_part().shape())
        return tensor;
      DTensorSpec spec = DTensor::of(parameter).spec();
      spec.dtype = tensor.dtype();
      return DTensor(std::move(spec), tensor).as_tensor();
    });
  }
  add_rates(state, optimizer);
  return state;
}

namespace {

void add_scaler(StateDict& state, optim::LossScaler& scaler) {
  using State = optim::LossScaler::State;
  State now = scaler.state();
  state.add("loss_scaler",
            list_of({now.scale, double(now.left), double(now.steps), double(now.last_bad),
                     double(now.skipped)}),
            [&scaler](const JsonValue& value) {
              std::vector<double> numbers = numbers_of("loss_scaler", value);
              if (numbers.size() != 5)
                raise(ErrorKind::value_error, "checkpoint/load",
                      "'loss_scaler': expected five numbers, got {}", numbers.size());
              scaler.load_state({numbers[0], std::int64_t(numbers[1]), std::int64_t(numbers[2]),
                                 std::int64_t(numbers[3]), std::int64_t(numbers[4])});
            });
}

void add_scheduler(StateDict& state, zero::LrScheduler& scheduler) {
  state.add("lr_scheduler", JsonValue(scheduler.last_batch_iteration()),
            [&scheduler](const JsonValue& value) {
              scheduler.load_state(integer_of("lr_scheduler", value));
            });
}

}  // namespace

void add_scheduler(StateDict& state, optim::Scheduler& scheduler) {
  optim::Scheduler::State now = scheduler.state();
  std::vector<double> numbers = {double(now.steps)};
  numbers.insert(numbers.end(), now.initial.begin(), now.initial.end());
  state.add("scheduler", list_of(numbers), [&scheduler](const JsonValue& value) {
    std::vector<double> loaded = numbers_of("scheduler", value);
    scheduler.load_state({std::int64_t(loaded[0]), {loaded.begin() + 1, loaded.end()}});
  });
}

StateDict state_dict(zero::Engine& engine) {
  StateDict state;
  std::vector<zero::MasterShard> shards = engine.master_shards();
  std::vector<nn::NamedTensor> parameters = engine.module().named_parameters();
  auto as_shard = [&](const zero::MasterShard& shard, const Tensor& values) {
    return FlatShard{values.view(Shape{shard.end - shard.begin}),
                     parameters[shard.parameter].second.shape(),
                     {shard.begin, shard.end}};
  };
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string& name = engine.masters()[i].first;
    const Tensor& master = engine.masters()[i].second;
    const Tensor& parameter = parameters[shards[i].parameter].second;
    bool is_rebuilt = parameter.dtype() != DType::float32 && parameter.requires_grad();
    state.add((is_rebuilt ? "master." : "model.") + name, as_shard(shards[i], master.detach()));
    auto index = index_among(engine.optimizer().parameters(), master);
    if (!index || !parameter.requires_grad()) continue;
    add_kept(state, engine.optimizer(), *index, name,
             [&](const Tensor& tensor) -> StateDict::Value {
               // A tensor that isn't like the master is whole on every rank that has it.
               if (tensor.shape() != master.shape()) return tensor;
               return as_shard(shards[i], tensor);
             });
  }
  // Tensors without a master are whole on every rank.
  for (const auto& [name, parameter] : parameters)
    if (!parameter.requires_grad() && state.find("model." + name) == nullptr)
      state.add("model." + name, parameter);
  for (const auto& [name, buffer] : named_buffers(engine.module()))
    state.add("model." + name, buffer);
  add_rates(state, engine.optimizer());
  if (optim::LossScaler* scaler = engine.loss_scaler()) add_scaler(state, *scaler);
  if (zero::LrScheduler* scheduler = engine.lr_scheduler()) add_scheduler(state, *scheduler);
  return state;
}

}  // namespace simmesh::checkpoint
