#include "zero/config/config_autos.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check/error.h"
#include "zero/config/config_value.h"

namespace simmesh::zero {

namespace {

bool is_auto(const JsonValue& value) { return value.is_text("auto"); }

// Returns a section, or null where there is none; reading it refuses a value that is not an object.
JsonValue* section_of(JsonValue& object, std::string_view name) {
  JsonValue* found = object.find(name);
  return found != nullptr && found->get<JsonValue::Object>() != nullptr ? found : nullptr;
}

[[noreturn]] void refuse(const std::string& path) {
  raise(ErrorKind::value_error, "zero/config",
        "{}: expected a value that \"auto\" stands for, got none", path);
}

template <class T>
void resolve(JsonValue& object, const std::string& section, const std::string& name,
             const std::optional<T>& value) {
  JsonValue* found = object.find(name);
  if (found == nullptr || !is_auto(*found)) return;
  if (!value) refuse(section + name);
  *found = written(*value);
}

// Drops the values that are still "auto", also in sections of the section.
void drop_autos(JsonValue& section) {
  auto& entries = std::get<JsonValue::Object>(section.value);
  entries.erase(std::remove_if(entries.begin(), entries.end(),
                               [](const auto& entry) { return is_auto(entry.second); }),
                entries.end());
  for (auto& [name, value] : entries)
    if (value.get<JsonValue::Object>() != nullptr) drop_autos(value);
}

void resolve_zero(JsonValue& section, const AutoValues& autos) {
  if (autos.hidden_size) {
    std::int64_t size = *autos.hidden_size;
    resolve<std::int64_t>(section, "", "reduce_bucket_size", size * size);
    resolve<std::int64_t>(section, "", "stage3_prefetch_bucket_size", size * size * 9 / 10);
    resolve<std::int64_t>(section, "", "stage3_param_persistence_threshold", 10 * size);
  }
  drop_autos(section);
}

void resolve_optimizer(JsonValue& params, const AutoValues& autos) {
  const std::string path = "optimizer.params.";
  resolve(params, path, "lr", autos.lr);
  resolve(params, path, "betas", autos.betas);
  resolve(params, path, "eps", autos.eps);
  resolve(params, path, "weight_decay", autos.weight_decay);
}

// Returns the learning rate of the section optimizer, after its own "auto" was resolved.
std::optional<double> optimizer_lr(JsonValue& config) {
  JsonValue* section = section_of(config, "optimizer");
  JsonValue* params = section == nullptr ? nullptr : section_of(*section, "params");
  const JsonValue* lr = params == nullptr ? nullptr : params->find("lr");
  if (lr == nullptr) return {};
  double value = 0;
  read_value({*lr, "optimizer.params.lr"}, {}, value);
  return value;
}

void resolve_scheduler(JsonValue& params, const AutoValues& autos, std::optional<double> lr) {
  const std::string path = "scheduler.params.";
  resolve<double>(params, path, "warmup_min_lr", 0.0);
  resolve(params, path, "warmup_max_lr", autos.lr ? autos.lr : lr);
  resolve(params, path, "warmup_num_steps", autos.warmup_num_steps);
  resolve(params, path, "total_num_steps", autos.total_num_steps);
  for (const auto& [name, value] : *params.get<JsonValue::Object>())
    if (is_auto(value)) refuse(path + name);
}

// A batch size without a value is left out where the others are enough to compute it.
void resolve_batch_sizes(JsonValue& config, const AutoValues& autos) {
  const char *train = "train_batch_size", *micro = "train_micro_batch_size_per_gpu",
             *steps = "gradient_accumulation_steps";
  std::vector<std::pair<const char*, std::optional<std::int64_t>>> sizes = {
      {train, autos.train_batch_size},
      {micro, autos.train_micro_batch_size_per_gpu},
      {steps, autos.gradient_accumulation_steps}};
  for (const auto& [name, value] : sizes)
    if (value) resolve(config, "", name, value);
  auto is_known = [&](const char* name) {
    const JsonValue* found = config.find(name);
    return found != nullptr && !is_auto(*found) && !found->is_null();
  };
  bool follows_train = is_known(micro), follows_micro = is_known(train);
  for (auto [name, follows] : {std::pair(train, follows_train), std::pair(micro, follows_micro),
                               std::pair(steps, follows_train && follows_micro)}) {
    if (!follows) resolve<std::int64_t>(config, "", name, {});
    if (const JsonValue* found = config.find(name); found != nullptr && is_auto(*found))
      config.erase(name);
  }
}

// Only one of the two can be enabled, so where one is, the other isn't.
void resolve_precision(JsonValue& config, const AutoValues& autos) {
  for (auto [name, own, other] :
       {std::tuple("fp16", autos.fp16, autos.bf16), std::tuple("bf16", autos.bf16, autos.fp16),
        std::tuple("bfloat16", autos.bf16, autos.fp16)}) {
    JsonValue* section = section_of(config, name);
    if (section == nullptr) continue;
    if (!own && other == true) own = false;
    if (own) resolve(*section, std::string(name) + ".", "enabled", own);
    drop_autos(*section);
  }
}

}  // namespace

void resolve_autos(JsonValue& config, const AutoValues& autos) {
  resolve_batch_sizes(config, autos);
  resolve(config, "", "gradient_clipping", autos.gradient_clipping);
  if (JsonValue* zero = section_of(config, "zero_optimization")) resolve_zero(*zero, autos);
  resolve_precision(config, autos);
  if (JsonValue* section = section_of(config, "optimizer"))
    if (JsonValue* params = section_of(*section, "params")) resolve_optimizer(*params, autos);
  if (JsonValue* section = section_of(config, "scheduler"))
    if (JsonValue* params = section_of(*section, "params"))
      resolve_scheduler(*params, autos, optimizer_lr(config));
}

}  // namespace simmesh::zero
