#include <algorithm>
#include <array>
#include <cmath>
#include <gsl/span>
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

// Reason is why pydantic refuses a value of a key, with the words in which it says so; its last
// number is the bound.
struct Reason {
  const char* name;
  std::string_view phrase;
  bool has_bound = false;
  bool goes_on = false;  // by a type's name
};
constexpr Reason validation_reasons[] = {
    {"enum", "", false},
    {"extra_forbidden", "Extra inputs are not permitted"},
    {"greater_than", "greater than ", true},
    {"greater_than_equal", "greater than or equal to ", true},
    {"less_than", "less than ", true},
    {"less_than_equal", "less than or equal to ", true},
    {"missing", "Field required"},
    {"literal_error", ""},
    {.name = "is_instance_of", .phrase = "an instance of ", .goes_on = true},
    {"tuple_type", "a valid tuple"},
    {"int_type", "a valid integer"},
    {"int_from_float", "a valid integer, got a number with a fractional part"},
    {"int_parsing", "a valid integer, unable to parse string as an integer"},
    {"float_type", "a valid number"},
    {"float_parsing", "a valid number, unable to parse string as a number"},
    {"finite_number", "a finite number"},
    {"bool_type", "a valid boolean"},
    {"bool_parsing", "a valid boolean, unable to interpret input"},
    {"string_type", "a valid string"},
    {"list_type", "a valid list"},
    {"dict_type", "a valid dictionary"},
    {.name = "model_type", .phrase = "a valid dictionary or instance of ", .goes_on = true},
    {"model_attributes_type", "a valid dictionary or object to extract fields from"},
    {.name = "path_type", .phrase = "Input is not a valid path for ", .goes_on = true},
    {.name = "value_error", .phrase = "Value error, ", .goes_on = true},
    {.name = "assertion_error", .phrase = "Assertion failed, ", .goes_on = true}};

// Both lists have the same words: "'torch' or 'liger'".
constexpr std::string_view enum_keys[] = {"stage", "device", "q_type"};
constexpr std::string_view literal_keys[] = {"passes", "vocab_parallel_ce_backend"};

Schema zero_config_schema() {
  using namespace schema;
  Schema error =
      word({"ValidationError", "AssertionError", "TypeError", "ValueError", "AttributeError",
            "ZeroDivisionError", "RuntimeError", "DeepSpeedConfigError"});
  std::vector<std::string> reasons;
  for (const Reason& reason : validation_reasons) reasons.push_back(reason.name);
  Field ok = required("ok", flag());
  Schema expect =
      object_of({{"values", {ok, expected("values", values_schema())}},
                 {"missing", {ok, expected("missing", text())}},
                 {"error",
                  {ok, expected("error", error),
                   expected("field", text())
                       .or_absent("DeepSpeed names no key where several don't go together"),
                   expected("phrase", text()).because("without why it is in DeepSpeed's words"),
                   optional("why", word(std::move(reasons)))}}});
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

// The phrase is that of the reason. A bound in it is one that our own error names.
void compare_phrase(const CaseField& expected, const Error& error, CaseReport& report) {
  auto why = expected.find("why");
  if (!why) return;
  std::string name = why->text(), phrase = expected["phrase"].text();
  const Reason* reason = std::find_if(std::begin(validation_reasons), std::end(validation_reasons),
                                      [&](const Reason& one) { return one.name == name; });
  // A reason without words of its own has those of no other one.
  bool is_of_another = std::any_of(
      std::begin(validation_reasons), std::end(validation_reasons),
      [&](const Reason& one) { return !one.phrase.empty() && phrase.starts_with(one.phrase); });
  bool fits = reason->has_bound || reason->goes_on
                  ? phrase.starts_with(reason->phrase) && phrase.size() > reason->phrase.size()
              : reason->phrase.empty() ? !is_of_another
                                       : phrase == reason->phrase;
  if (!fits)
    report.mismatch(
        fmt::format("phrase: expected '{}' of {}, got '{}'", reason->phrase, name, phrase));
  if (!reason->has_bound || !fits) return;
  std::string bound = phrase.substr(reason->phrase.size());
  if (error.message().find(bound) == std::string_view::npos)
    report.mismatch(fmt::format("expected the bound {}, got: {}", bound, error.what()));
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
      error->message().find(key + ": simmesh has no") == std::string_view::npos)
    report.mismatch(
        fmt::format("{}: expected an error that says that simmesh has no such feature, "
                    "got {}",
                    key, error ? error->what() : "none"));
}

// True for a key with an enumeration if the reason is a literal, and the other way round.
bool is_of_the_other_list(const std::string& why, const std::string& field) {
  std::string key = field.substr(field.rfind('.') + 1);
  auto has = [&](gsl::span<const std::string_view> keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  return (why == "enum" && has(literal_keys)) || (why == "literal_error" && has(enum_keys));
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
  // Where keys don't go together DeepSpeed's own words name them.
  std::string why = expected.has("why") ? expected["why"].text() : "";
  bool is_of_several = why == "value_error" || why == "assertion_error";
  if (wanted == "ValidationError" && !is_of_several && !expected.has("field"))
    report.mismatch("field: expected the key of a ValidationError, got none");
  if (auto field = expected.find("field"); field && is_of_the_other_list(why, field->text()))
    report.mismatch(fmt::format("why: expected the other kind of a list, got {}", why));
  if ((wanted == "ValidationError") != expected.has("why"))
    report.mismatch("why: expected the reason of a ValidationError, and of no other class");
  compare_phrase(expected, *error, report);
}

// True if a configuration sets flags only, which may mean nothing but that they are known; then a
// case has no values.
bool sets_flags_only(const CaseField& config) {
  auto zero = config.find("zero_optimization");
  if (!zero || !zero->is_object()) return false;
  std::vector<std::string> keys = zero->keys();
  return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return key == "stage" || (*zero)[key].is_boolean();
  });
}

void verify_zero_config(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report) {
  CaseField expect = recorded["expect"];
  bool is_missing = expect.has("missing");
  bool is_empty = expect.has("values") && expect["values"].size() == 0;
  if (is_empty && !sets_flags_only(recorded["config"]))
    expect["values"].reject("at least one value");
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
