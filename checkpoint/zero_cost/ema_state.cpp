#include "checkpoint/zero_cost/ema_state.h"

#include <algorithm>
#include <utility>

#include "core/check/error.h"
#include "core/memory/ledger.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::checkpoint {

namespace {

constexpr const char* updates_name = "ema.updates";

// Returns the rank's part of a tensor, contiguous; an undefined tensor outside of its mesh.
Tensor values_of(const StateDict::Value& value) {
  if (const auto* shard = std::get_if<FlatShard>(&value)) return shard->values.detach();
  const Tensor& tensor = std::get<Tensor>(value);
  bool is_outside = tensor.distribution() && !DTensor::of(tensor).spec().groups->is_member();
  return is_outside ? Tensor() : tensor.local_part().contiguous();
}

// Returns a tensor with the layout of another one.
Tensor lying_like(const Tensor& tensor, const Tensor& values) {
  return tensor.distribution() ? DTensor::of(tensor).with_local(values).as_tensor() : values;
}

bool is_float32(const StateDict::Value& value) {
  if (const auto* shard = std::get_if<FlatShard>(&value))
    return shard->values.dtype() == DType::float32;
  const auto* tensor = std::get_if<Tensor>(&value);
  return tensor && tensor->dtype() == DType::float32;
}

}  // namespace

bool EmaOptions::is_due(std::int64_t step, const std::optional<double>& loss) const {
  if (step % interval != 0) return false;
  if (!loss_threshold) return true;
  if (!loss)
    raise(ErrorKind::value_error, "checkpoint/ema",
          "expected the loss of step {}, since the averages have a loss_threshold of {}", step,
          *loss_threshold);
  return *loss < *loss_threshold;
}

EmaState::EmaState(const EmaOptions& options) : options_(options) {
  MovingAverage refuses_bad_decays(0, {.coefficient = options.decay});
  if (options.interval < 1)
    raise(ErrorKind::value_error, "checkpoint/ema", "expected an interval of at least 1, got {}",
          options.interval);
}

std::optional<std::string> EmaState::averaged_name(const StateDict::Entry& entry) {
  if (!is_float32(entry.value)) return std::nullopt;
  for (std::string_view prefix : {"model.", "master."})
    if (entry.name.starts_with(prefix)) return "ema." + entry.name.substr(prefix.size());
  return std::nullopt;
}

MovingAverage& EmaState::average_of(const std::string& name, std::size_t count) {
  return averages_
      .try_emplace(name, count,
                   MovingAverage::Options{.coefficient = options_.decay, .start = options_.start})
      .first->second;
}

void EmaState::update(const StateDict& state) {
  take_loaded();
  bool has_any = false;
  for (const StateDict::Entry& entry : state.entries()) {
    std::optional<std::string> name = averaged_name(entry);
    if (!name) continue;
    has_any = true;
    Tensor values = values_of(entry.value);
    if (!values.is_defined() || values.numel() == 0) continue;
    MovingAverage& average = average_of(*name, std::size_t(values.numel()));
    // A ghost of a run that is spread over processes has no values to average.
    if (!values.has_elements()) continue;
    auto elements = values.values<float>();
    average.update({elements.data(), elements.size()});
  }
  if (!has_any)
    raise(ErrorKind::value_error, "checkpoint/ema",
          "expected float32 tensors under 'model.' or 'master.' to average, got none");
  ++updates_;
}

// Returns the appended tensors of which the rank has elements.
std::map<std::string, Tensor> EmaState::add_averages(StateDict& state) {
  take_loaded();
  std::map<std::string, Tensor> added;
  std::vector<StateDict::Entry> entries = state.entries();
  for (const StateDict::Entry& entry : entries) {
    std::optional<std::string> name = averaged_name(entry);
    if (!name) continue;
    Tensor values = values_of(entry.value);
    if (!values.is_defined()) continue;
    Ledger::Uncharged host;
    Tensor averages = zeros(values.shape(), DType::float32);
    if (averages.numel() > 0) {
      const MovingAverage& known = average_of(*name, std::size_t(averages.numel()));
      if (averages.has_elements())
        std::copy(known.values().begin(), known.values().end(),
                  averages.mutable_values<float>().begin());
      added[*name] = averages;
    }
    if (const auto* shard = std::get_if<FlatShard>(&entry.value))
      state.add(*name, FlatShard{averages, shard->shape, shard->range});
    else
      state.add(*name, lying_like(std::get<Tensor>(entry.value), averages));
  }
  return added;
}

void EmaState::add_to(StateDict& state) {
  add_averages(state);
  state.add(updates_name, updates_);
}

void EmaState::add_to_load(StateDict& state) {
  to_load_ = add_averages(state);
  state.add(updates_name, JsonValue(updates_), [this](const JsonValue& value) {
    const auto* count = value.get<std::int64_t>();
    if (count == nullptr || *count < 0)
      raise(ErrorKind::value_error, "checkpoint/load", "'{}': expected a number of updates, got {}",
            updates_name, value.text(40));
    updates_ = *count;
    is_loaded_ = true;
  });
}

// Takes the averages that a load has filled, before the next update.
void EmaState::take_loaded() {
  if (!std::exchange(is_loaded_, false)) return;
  for (const auto& [name, averages] : to_load_) {
    if (updates_ == 0) {
      averages_.erase(name);
      continue;
    }
    MovingAverage& average = average_of(name, std::size_t(averages.numel()));
    if (!averages.has_elements()) continue;
    auto values = averages.values<float>();
    average.restore({values.data(), values.size()});
  }
  to_load_.clear();
}

}  // namespace simmesh::checkpoint
