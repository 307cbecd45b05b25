#include "zero/config/scheduler_json.h"

#include <array>
#include <utility>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "zero/config/config_keys.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view scheduler_source = "zero/config";

// TypeName is the name of a type in a file, with the params that it requires.
struct TypeName {
  std::string name;
  std::vector<std::string> needed;
};

// In the order of the variant.
const std::vector<TypeName>& type_names() {
  static const std::vector<TypeName> names = {{"WarmupLR", {}},
                                              {"WarmupDecayLR", {"total_num_steps"}},
                                              {"WarmupCosineLR", {"total_num_steps"}},
                                              {"OneCycle", {"cycle_min_lr", "cycle_max_lr"}},
                                              {"LRRangeTest", {}},
                                              {"StepLR", {"step_size"}},
                                              {"MultiStepLR", {"milestones"}},
                                              {"ConstantLR", {}},
                                              {"LinearLR", {}},
                                              {"ExponentialLR", {"gamma"}},
                                              {"PolynomialLR", {}},
                                              {"CosineAnnealingLR", {"T_max"}},
                                              {"CosineAnnealingWarmRestarts", {"T_0"}},
                                              {"CyclicLR", {"base_lr", "max_lr"}},
                                              {"OneCycleLR", {"max_lr"}}};
  return names;
}

constexpr std::size_t type_count = std::variant_size_v<SchedulerConfig>;
constexpr std::size_t first_of_torch = 5;

std::string known_names() {
  SIMMESH_CHECK(type_names().size() == type_count, "a name for each type of scheduler");
  std::vector<std::string> names;
  for (const TypeName& type : type_names()) names.push_back(type.name);
  return join_text(names, ", ");
}

// Unusable is a class of torch.optim.lr_scheduler that no file can make or no engine can step.
struct Unusable {
  const char* name;
  ErrorKind kind;
  const char* why;
};
constexpr std::array unusable_types = {
    Unusable{"LambdaLR", ErrorKind::type_error,
             "lr_lambda should be a function, which a file doesn't have"},
    Unusable{"MultiplicativeLR", ErrorKind::type_error,
             "lr_lambda should be a function, which a file doesn't have"},
    Unusable{"SequentialLR", ErrorKind::type_error,
             "schedulers should be schedulers, which a file doesn't have"},
    Unusable{"ChainedScheduler", ErrorKind::type_error,
             "schedulers should be schedulers, which a file doesn't have"},
    Unusable{
        "ReduceLROnPlateau", ErrorKind::type_error,
        "step() is missing 1 required positional argument: 'metrics', which DeepSpeed's engine "
        "doesn't give"},
    Unusable{"LRScheduler", ErrorKind::not_implemented_error,
             "get_lr() is not implemented by the class that others derive from"}};

template <std::size_t Index>
void read_params(const JsonValue& params, SchedulerConfig& scheduler) {
  using Type = std::variant_alternative_t<Index, SchedulerConfig>;
  const TypeName& type = type_names()[Index];
  for (const std::string& name : type.needed)
    if (params.find(name) == nullptr)
      raise(ErrorKind::type_error, scheduler_source,
            "scheduler.params.{}: expected a value for {}, got none", name, type.name);
  for (const auto& [name, value] : *params.get<JsonValue::Object>())
    if (!is_key<Type>(name))
      raise(ErrorKind::type_error, scheduler_source,
            "scheduler.params.{}: expected a param of {}, got an unexpected one", name, type.name);
  read_section({params, "scheduler.params"}, scheduler.emplace<Index>());
}

// Reads the type of an index, which isn't known when this is compiled.
template <std::size_t... Indices>
void read_type(std::size_t index, const JsonValue& params, SchedulerConfig& scheduler,
               std::index_sequence<Indices...>) {
  ((index == Indices ? read_params<Indices>(params, scheduler) : void()), ...);
}

}  // namespace

std::optional<SchedulerConfig> read_scheduler(const JsonValue& section) {
  if (section.get<JsonValue::Object>() == nullptr)
    raise(ErrorKind::attribute_error, scheduler_source, "scheduler: expected an object, got {}",
          section.text(80));
  const JsonValue* given = section.find("type");
  if (given == nullptr || given->is_null()) return {};
  std::string type;
  read_value({*given, "scheduler.type"}, {}, type);
  const JsonValue* given_params = section.find("params");
  bool has_params = given_params != nullptr && !given_params->is_null();
  const JsonValue params = has_params ? *given_params : JsonValue::object();
  expect_object({params, "scheduler.params"});
  for (std::size_t index = 0; index < type_count; ++index)
    if (type == type_names()[index].name) {
      SchedulerConfig scheduler;
      read_type(index, params, scheduler, std::make_index_sequence<type_count>());
      check_scheduler_values(scheduler);
      return scheduler;
    }
  for (const Unusable& unusable : unusable_types)
    if (type == unusable.name)
      raise(unusable.kind, scheduler_source, "scheduler.type: {}: {}", type, unusable.why);
  raise(ErrorKind::assertion_error, scheduler_source, "scheduler.type: expected {}, got {}",
        known_names(), given->text(80));
}

bool is_torch_scheduler(const SchedulerConfig& scheduler) {
  return scheduler.index() >= first_of_torch;
}

JsonValue written_scheduler(const SchedulerConfig& scheduler) {
  JsonValue section = JsonValue::object();
  std::visit(
      [&](const auto& of_type) {
        section.set("type", JsonValue(type_names()[scheduler.index()].name));
        section.set("params", write_section(of_type));
      },
      scheduler);
  return section;
}

}  // namespace simmesh::zero
