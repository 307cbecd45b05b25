#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "core/autograd/variable.h"
#include "core/tensor/known_tensor.h"
#include "fsdp/named_params.h"
#include "sharding/dtensor/dtensor.h"
#include "verify/case_bits.h"
#include "verify/case_json.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"
#include "verify/case_world.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/read_program.h"
#include "verify/fsdp/record.h"

namespace simmesh {

namespace {

using Json = nlohmann::json;

Schema facts_of_parameter() {
  using namespace schema;
  Schema yes_or_no = by_rank_schema(flag());
  auto seen = [&](std::string name) { return expected(std::move(name), yes_or_no).or_absent(); };
  Schema compared = object({expected("aliases", yes_or_no), seen("equal")});
  auto padded_numel = expected("padded_numel", by_rank_schema(integer({.min = 0})));
  return object({expected("registered", text()), expected("dtype", dtype_schema()),
                 expected("same_object", yes_or_no), seen("empty"), seen("same_storage"),
                 seen("view_of_padded"), padded_numel.or_absent(),
                 expected("local_hash", by_rank_schema(hash())).or_absent(),
                 expected("meta", yes()).or_absent(), seen("same_unsharded_object"),
                 seen("in_optimizer"), expected("sd", compared).or_absent(),
                 expected("sd2", compared).or_absent(), expected("loaded", compared).or_absent()});
}

Schema facts_schema() {
  return schema::map(schema::named("record of a parameter", facts_of_parameter));
}

// Returns the fields for the state after a step of the program.
StepFields fields_of_step() {
  using namespace schema;
  Schema raises = or_null(
      object({expected("type", text()),
              expected("words", list(text(), {.min = 1}))
                  .because("words are in no order, and fewer or shorter ones ask for less")}));
  return {
      .all = {expected("facts", facts_schema()), expected("events", events_schema()).or_absent(),
              expected("raises", raises).or_absent()},
      .state_dict = {expected("keys", list(text(), {.min = 1})),
                     expected("placements", map(list(text())))}};
}

Schema state_dict_schema() {
  using namespace schema;
  return object(fsdp_fields({optional("device", word({"meta", "cpu"})),
                             required("program", program_schema(fields_of_step())),
                             expected("start", facts_schema())}));
}

// Facts about a parameter that change: those at the start, and those at its first gather.
struct Origin {
  TrackingPtr object;
  StoragePtr storage;
  StoragePtr unsharded;
};

bool holds(const optim::Optimizer& optimizer, const Tensor& parameter) {
  const auto& list = optimizer.parameters();
  return std::any_of(list.begin(), list.end(),
                     [&](const Tensor& known) { return known.tracking() == parameter.tracking(); });
}

Json compare_with(const Tensor& kept, const Tensor& live) {
  Tensor local = kept.local_part();
  return {{"aliases", local.storage() == live.storage()},
          {"equal", local.dtype() == live.dtype() &&
                        known_same_bits(local.contiguous(), live.contiguous())}};
}

// Facts watches the parameters of one rank's model.
class Facts {
 public:
  explicit Facts(nn::Module& model) {
    for (const fsdp::NamedParam& named : fsdp::named_params(model)) {
      bool is_known = std::any_of(params_.begin(), params_.end(),
                                  [&](const auto& other) { return other.param == named.param; });
      if (is_known) continue;
      params_.push_back(named);
      const Tensor& parameter = named.param->sharded_param();
      origins_[named.name] = {parameter.tracking(), parameter.local_part().storage(), nullptr};
    }
  }

  Json describe(const ProgramRun* run) {
    Json facts = Json::object();
    for (const fsdp::NamedParam& named : params_) facts[named.name] = describe(named, run);
    return facts;
  }

 private:
  Json describe(const fsdp::NamedParam& named, const ProgramRun* run) {
    const fsdp::FSDPParam& param = *named.param;
    Origin& origin = origins_[named.name];
    const Tensor& parameter = param.sharded_param();
    Tensor local = parameter.local_part();
    Json facts = {{"registered", to_string(param.state())},
                  {"dtype", to_string(local.dtype())},
                  {"same_object", parameter.tracking() == origin.object}};
    if (local.is_meta()) {
      facts["meta"] = true;
    } else {
      facts["empty"] = local.numel() == 0;
      facts["same_storage"] = local.storage() == origin.storage;
      facts["view_of_padded"] = local.storage() == param.sharded_data().storage();
      facts["padded_numel"] = param.sharded_data().numel();
      facts["local_hash"] = bits_text(local);
    }
    if (param.unsharded_param().is_defined()) {
      StoragePtr unsharded = param.unsharded_param().local_part().storage();
      if (!origin.unsharded) origin.unsharded = unsharded;
      facts["same_unsharded_object"] = unsharded == origin.unsharded;
    }
    if (!run) return facts;
    if (run->optimizer()) facts["in_optimizer"] = holds(*run->optimizer(), parameter);
    if (local.is_meta()) return facts;
    for (const auto& [as, state] : run->state_dicts())
      for (const auto& [name, kept] : state)
        if (name == named.name && !kept.local_part().is_meta())
          facts[as] = compare_with(kept, local);
    return facts;
  }

  std::vector<fsdp::NamedParam> params_;
  std::map<std::string, Origin> origins_;
};

// StepResult is the state of one rank after a step.
struct StepResult {
  Json facts;
  Json keys, placements;
  std::vector<fsdp::EventFields> events;
  std::string raised, message;
};

void describe_state_dict(const nn::StateDict& state, StepResult& result) {
  result.keys = Json::array();
  result.placements = Json::object();
  for (const auto& [name, tensor] : state) {
    result.keys.push_back(name);
    Json list = Json::array();
    if (tensor.distribution()) {
      DTensor value = DTensor::of(tensor);
      for (const Placement& placement : value.placements()) list.push_back(to_string(placement));
    }
    result.placements[name] = std::move(list);
  }
}

std::vector<StepResult> run_steps(const FsdpPlan& plan, const std::vector<ProgramStep>& program,
                                  Rank& rank) {
  ShardedModel sharded(plan);
  sharded.wrap_all();
  Facts facts(sharded.model());
  std::vector<StepResult> results(1);
  results[0].facts = facts.describe(nullptr);
  fsdp::ObserverScope observer([&](const fsdp::Event& event) {
    if (event.kind == fsdp::EventKind::reset_sharded_param ||
        event.kind == fsdp::EventKind::reshard)
      results.back().events.push_back(fields_of(event, sharded.model()));
  });
  ProgramRun run(sharded);
  for (const ProgramStep& step : program) {
    results.emplace_back();
    try {
      run.run(step);
    } catch (const Error& error) {
      results.back().raised = std::string(to_string(error.kind()));
      results.back().message = error.what();
      results.back().facts = facts.describe(&run);
      return results;
    }
    results.back().facts = facts.describe(&run);
    if (step.act == "state_dict")
      describe_state_dict(run.state_dicts().at(step.as), results.back());
  }
  for (const Tensor& parameter : sharded.model().parameters()) {
    Tensor local = parameter.local_part();
    if (!local.is_meta()) rank.record(local);
  }
  return results;
}

// merged returns the facts that hold after a step: those that it names, and earlier ones.
Json merged(Json before, const Json& facts) {
  for (auto& [name, value] : facts.items()) before[name] = value;
  return before;
}

// ValueOrigin is where the parameters' values come from: hashes are recorded only for values that
// come from a formula, and nothing for values that were never set.
class ValueOrigin {
 public:
  void step(const std::string& act) {
    if (act == "optim_step" || act == "to_empty") is_formula_ = false;
    if (act == "to_empty") is_set_ = false;
    if (act == "fill" || act == "load") is_formula_ = is_set_ = true;
  }

  Json known(Json facts) const {
    for (auto& entry : facts) {
      if (!is_formula_) entry.erase("local_hash");
      for (const char* as : {"sd", "sd2", "loaded"})
        if (!is_set_ && entry.contains(as)) entry[as].erase("equal");
    }
    return facts;
  }

 private:
  bool is_formula_ = true;
  bool is_set_ = true;
};

void expect_raised(CaseReport& report, const std::string& who, const CaseField& step,
                   const StepResult& got) {
  auto raises = step.find("raises");
  bool is_expected = raises && !raises->is_null();
  report.expect_equal(who + ": raised", is_expected ? (*raises)["type"].text() : "", got.raised);
  if (!is_expected) return;
  for (const std::string& word : (*raises)["words"].texts())
    if (got.message.find(word) == got.message.npos)
      report.mismatch(
          fmt::format("{}: expected '{}' in the message, got: {}", who, word, got.message));
}

void expect_step(CaseReport& report, const std::string& who, const CaseField& expected,
                 const StepResult& got, std::size_t rank) {
  expect_raised(report, who, expected, got);
  std::vector<fsdp::EventFields> events;
  if (auto field = expected.find("events")) events = read_events(*field);
  expect_events(report, who, events, got.events);
  if (expected["do"].text() != "state_dict") return;
  expect_same(report, who + ".keys", of_rank(expected["keys"].value(), rank), got.keys);
  expect_same(report, who + ".placements", of_rank(expected["placements"].value(), rank),
              got.placements);
}

void verify_fsdp_state_dict(const RecordedCase& recorded, const VerifyOptions& options,
                            CaseReport& report) {
  FsdpPlan plan = read_fsdp_plan(recorded);
  std::vector<ProgramStep> program = read_program(recorded["program"], plan.model.dtype);
  std::vector<CaseField> steps = recorded["program"].items();
  require_program(recorded, plan, program);
  require_ranks(recorded.root(), plan.world);
  std::vector<std::vector<StepResult>> of_ranks(std::size_t(plan.world));
  World world(world_options(options, plan.world));
  auto error = run_case(
      world, [&](Rank& rank) { of_ranks[rank.id()] = run_steps(plan, program, rank); }, report);
  if (error) report.mismatch(fmt::format("expected a run, got {}", error->what()));
  if (report.failed()) return;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const std::vector<StepResult>& results = of_ranks[rank];
    Json facts = recorded["start"].value();
    ValueOrigin origin;
    expect_same(report, fmt::format("rank {}: start", rank), of_rank(facts, rank),
                origin.known(results[0].facts));
    report.expect_equal(fmt::format("rank {}: number of steps", rank), steps.size(),
                        results.size() - 1);
    for (std::size_t i = 0; i + 1 < results.size(); ++i) {
      std::string who = fmt::format("rank {}: step {} ({})", rank, i, program[i].act);
      facts = merged(facts, steps[i]["facts"].value());
      origin.step(program[i].act);
      expect_same(report, who, of_rank(facts, rank), origin.known(results[i + 1].facts));
      expect_step(report, who, steps[i], results[i + 1], rank);
    }
  }
}

const CaseKind fsdp_state_dict_kind(
    {.name = "fsdp_state_dict",
     .summary = "which tensors share storage or are equal, step by step, on every rank",
     .schema = state_dict_schema,
     .verifier = verify_fsdp_state_dict});

}  // namespace

}  // namespace simmesh
