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

// Returns the values that can be compared, by the names that cases use.
Schema values_schema() {
  using namespace schema;
  Fields fields;
  for (const auto& key : zero::config_keys<zero::ZeroOptimization>())
    fields.push_back(expected(key.name, any()).or_absent());
  for (const char* name : {"gradient_clipping", "fp16", "train_batch_size", "optimizer",
                           "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"})
    fields.push_back(expected(name, any()).or_absent());
  return object(std::move(fields));
}

Schema zero_config_schema() {
  using namespace schema;
  Schema error = word({"ValidationError", "AssertionError", "TypeError"});
  Field ok = required("ok", flag());
  Schema expect = object_of({{"values", {ok, expected("values", values_schema())}},
                             {"error",
                              {ok, expected("error", error), expected("field", text()).or_absent(),
                               optional("phrase", text()), optional("why", text())}}});
  return object(
      {required("world", integer({.min = 1, .max = 64})),
       required("level", word({"parse", "engine"})),
       required("optimizer", or_null(word({"AdamW", "SGD, zero_allow_untested_optimizer absent"}))),
       required("config", any()), expected("expect", expect)});
}

// Returns the class of an Error that stands for one of Python's.
ErrorKind kind_of(const std::string& name) {
  return name == "TypeError"        ? ErrorKind::type_error
         : name == "AssertionError" ? ErrorKind::assertion_error
                                    : ErrorKind::value_error;
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
  for (const char* name : {"gradient_clipping", "fp16"}) values[name] = all[name];
  zero::BatchSizes sizes = config.batch_sizes(recorded["world"].integer());
  values["train_batch_size"] = sizes.train_batch_size;
  values["train_micro_batch_size_per_gpu"] = sizes.train_micro_batch_size_per_gpu;
  values["gradient_accumulation_steps"] = sizes.gradient_accumulation_steps;
  if (recorded["level"].text() == "engine")
    values["optimizer"] =
        class_of(config.zero_optimization.stage, !recorded["optimizer"].is_null());
  return values;
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
  if (expect["ok"].boolean() != expect.has("values")) expect.reject("values where it is ok");
  std::optional<Error> error;
  json values;
  try {
    zero::Config config = zero::Config::from_json(recorded["config"].value().dump());
    config.zero_allow_untested_optimizer =
        recorded["optimizer"].is_null() || recorded["optimizer"].text() == "AdamW";
    values = understood(config, recorded);
    if (recorded["level"].text() == "engine")
      error = build_engine(config, recorded, options, report);
  } catch (const BadCase&) {
    throw;
  } catch (const Error& caught) {
    error = caught;
  }
  if (!expect["ok"].boolean()) return expect_refused(expect, error, report);
  if (error) return report.mismatch(fmt::format("expected no error, got: {}", error->what()));
  for (const auto& [name, value] : expect["values"].value().items()) {
    auto found = values.find(name);
    if (found == values.end())
      report.mismatch(fmt::format("{}: expected {}, got no such value", name, shown(value)));
    else if (*found != value)
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
