#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/nn/linear.h"
#include "core/optim/adam.h"
#include "core/optim/sgd.h"
#include "verify/case_kind.h"
#include "verify/case_world.h"
#include "verify/json_text.h"
#include "zero/config/config_keys.h"
#include "zero/engine/engine.h"

namespace simmesh {

namespace {

using nlohmann::json;

// The values outside of zero_optimization.
constexpr std::array top_level_names = {"gradient_clipping",
                                        "fp16",
                                        "bf16",
                                        "train_batch_size",
                                        "train_micro_batch_size_per_gpu",
                                        "gradient_accumulation_steps",
                                        "managed_gradient_accumulation",
                                        "prescale_gradients",
                                        "gradient_predivide_factor",
                                        "gradient_allreduce_op",
                                        "communication_data_type",
                                        "zero_allow_untested_optimizer"};

// Returns the values that can be compared, by the names that cases use.
Schema values_schema() {
  using namespace schema;
  Fields fields;
  for (const auto& key : zero::config_keys<zero::ZeroOptimization>())
    fields.push_back(expected(key.name, any()).or_absent());
  for (const char* name : top_level_names) fields.push_back(expected(name, any()).or_absent());
  fields.push_back(expected("optimizer", any()).or_absent());
  return object(std::move(fields));
}

Schema zero_config_schema() {
  using namespace schema;
  Schema error =
      word({"ValidationError", "AssertionError", "TypeError", "ValueError", "AttributeError",
            "ZeroDivisionError", "RuntimeError", "DeepSpeedConfigError"});
  Field ok = required("ok", flag());
  Schema expect = object_of({{"values", {ok, expected("values", values_schema())}},
                             {"missing", {ok, expected("missing", text())}},
                             {"error",
                              {ok, expected("error", error), expected("field", text()).or_absent(),
                               optional("phrase", text()), optional("why", text())}}});
  return object(
      {required("world", integer({.min = 1, .max = 64})),
       required("level", word({"parse", "engine"})),
       required("optimizer", or_null(word({"AdamW", "SGD, zero_allow_untested_optimizer absent"}))),
       required("config", any()), expected("expect", expect)});
}

// Returns the class of an Error that stands for one of Python's. DeepSpeed's own are ValueErrors.
ErrorKind kind_of(const std::string& name) {
  for (ErrorKind kind :
       {ErrorKind::type_error, ErrorKind::assertion_error, ErrorKind::attribute_error,
        ErrorKind::zero_division_error, ErrorKind::runtime_error})
    if (name == to_string(kind)) return kind;
  return ErrorKind::value_error;
}

zero::MakeOptimizer optimizer_of(const CaseField& field) {
  if (field.is_null()) return {};
  bool is_adam = field.text() == "AdamW";
  return
      [is_adam](const std::vector<nn::NamedTensor>& masters) -> std::unique_ptr<optim::Optimizer> {
        std::vector<Tensor> tensors;
        for (const auto& [name, master] : masters) tensors.push_back(master);
        if (is_adam) return std::make_unique<optim::AdamW>(tensors);
        return std::make_unique<optim::Sgd>(tensors, optim::SgdOptions{});
      };
}

// Returns the name of DeepSpeed's class for an engine.
std::string class_of(std::int64_t stage, bool has_optimizer) {
  if (stage == 0 && !has_optimizer) return "NoneType";
  if (stage == 3) return has_optimizer ? "DeepSpeedZeroOptimizer_Stage3" : "DeepSpeedZeRoOffload";
  return "DeepSpeedZeroOptimizer";
}

// Builds an engine on every rank. Returns the error of the first, if one fails.
std::optional<Error> build_engine(const zero::Config& config, const RecordedCase& recorded,
                                  const VerifyOptions& options, CaseReport& report) {
  zero::MakeOptimizer make_optimizer = optimizer_of(recorded["optimizer"]);
  World world(world_options(options, recorded["world"].integer()));
  return run_case(
      world,
      [&](Rank&) {
        nn::Linear model({4, 4, true, {}});
        zero::initialize(model, make_optimizer, config, ProcessGroup::world());
      },
      report);
}

// Returns the values that were read, by the names that cases use.
json understood(const zero::Config& config, const RecordedCase& recorded) {
  json all = parse_json(config.to_json());
  json values = all["zero_optimization"];
  for (const char* name : top_level_names) values[name] = all.contains(name) ? all[name] : json();
  zero::BatchSizes sizes = config.batch_sizes(recorded["world"].integer());
  values["train_batch_size"] = sizes.train_batch_size;
  values["train_micro_batch_size_per_gpu"] = sizes.train_micro_batch_size_per_gpu;
  values["gradient_accumulation_steps"] = sizes.gradient_accumulation_steps;
  if (recorded["level"].text() == "engine")
    values["optimizer"] =
        class_of(config.zero_optimization.stage, !recorded["optimizer"].is_null());
  return values;
}

// True if the recorded value is the given one. A recorded section may have fewer keys.
bool holds_value(const json& value, const json& recorded) {
  if (!value.is_object() || !recorded.is_object()) return value == recorded;
  for (const auto& [key, entry] : recorded.items())
    if (!value.contains(key) || !holds_value(value[key], entry)) return false;
  return true;
}

// A bool or 2.0 is a number where DeepSpeed keeps what the file has.
json as_number(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()))
    return std::int64_t(value.get<double>());
  return value;
}

bool is_same_value(const std::string& name, const json& value, const json& recorded) {
  if (name.starts_with("train_") || name == "gradient_accumulation_steps")
    return value == as_number(recorded);
  return holds_value(value, recorded);
}

// DeepSpeed takes what simmesh lacks, which the error says.
void expect_missing(const std::string& key, const std::optional<Error>& error, CaseReport& report) {
  if (!error || error->kind() != ErrorKind::value_error ||
      error->message().find("simmesh has no") == std::string_view::npos ||
      error->message().find(key.substr(key.rfind('.') + 1)) == std::string_view::npos)
    report.mismatch(
        fmt::format("{}: expected an error that says that simmesh has no such feature, "
                    "got {}",
                    key, error ? error->what() : "none"));
}

void expect_refused(const CaseField& expected, const std::optional<Error>& error,
                    CaseReport& report) {
  std::string wanted = expected["error"].text();
  if (!error) return report.mismatch(fmt::format("expected a {}, got none", wanted));
  if (error->kind() != kind_of(wanted))
    report.mismatch(fmt::format("expected a {}, got: {}", wanted, error->what()));
  if (auto field = expected.find("field");
      field && error->message().find(field->text()) == std::string_view::npos)
    report.mismatch(
        fmt::format("expected an error that names {}, got: {}", field->text(), error->what()));
}

void verify_zero_config(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report) {
  CaseField expect = recorded["expect"];
  bool is_missing = expect.has("missing");
  if (expect["ok"].boolean() != (expect.has("values") || is_missing))
    expect.reject("values where it is ok");
  std::optional<Error> error;
  json values;
  try {
    zero::Config config =
        zero::Config::from_value(JsonValue::parse(recorded["config"].value().dump()));
    values = understood(config, recorded);
    config.zero_allow_untested_optimizer =
        recorded["optimizer"].is_null() || recorded["optimizer"].text() == "AdamW";
    if (recorded["level"].text() == "engine")
      error = build_engine(config, recorded, options, report);
  } catch (const BadCase&) {
    throw;
  } catch (const Error& caught) {
    error = caught;
  }
  if (is_missing) return expect_missing(expect["missing"].text(), error, report);
  if (!expect["ok"].boolean()) return expect_refused(expect, error, report);
  if (error) return report.mismatch(fmt::format("expected no error, got: {}", error->what()));
  for (const auto& [name, value] : expect["values"].value().items()) {
    auto found = values.find(name);
    if (found == values.end())
      report.mismatch(fmt::format("{}: expected {}, got no such value", name, shown(value)));
    else if (!is_same_value(name, *found, value))
      report.mismatch(fmt::format("{}: expected {}, got {}", name, shown(value), shown(*found)));
  }
}

const CaseKind zero_config_kind(
    {.name = "zero_config",
     .summary = "what a configuration means, or the class of its refusal and the key that it names",
     .schema = zero_config_schema,
     .verifier = verify_zero_config});

}  // namespace

}  // namespace simmesh
