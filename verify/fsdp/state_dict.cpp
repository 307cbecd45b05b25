#include "verify/fsdp/state_dict.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "core/autograd/variable.h"
#include "fsdp/named_params.h"
#include "sharding/dtensor.h"
#include "verify/case_bits.h"
#include "verify/case_json.h"
#include "verify/case_world.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/read_program.h"
#include "verify/fsdp/record.h"

namespace simmesh {

namespace {

using Json = nlohmann::json;

// Facts about a parameter that don't hold still: what it was at the start, and at its first gather.
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
  return {
      {"aliases", local.storage() == live.storage()},
      {"equal", local.dtype() == live.dtype() && same_bits(local.contiguous(), live.contiguous())}};
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
                  {"same_object", parameter.tracking() == origin.object},
                  {"same_storage", local.storage() == origin.storage},
                  {"empty", local.element_count() == 0},
                  {"view_of_padded", local.storage() == param.sharded_data().storage()},
                  {"padded_numel", param.sharded_data().element_count()}};
    if (local.is_meta())
      facts["meta"] = true;
    else
      facts["local_hash"] = bits_text(local);
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

// StepResult is what one step left on one rank.
struct StepResult {
  Json facts;
  Json keys, placements;
  std::vector<fsdp::EventFields> events;
  std::string raised;
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

// merged returns the facts that hold after a step: those it names, and those of before.
Json merged(Json before, const Json& facts) {
  for (auto& [name, value] : facts.items()) before[name] = value;
  return before;
}

void expect_step(CaseReport& report, const std::string& who, const CaseField& expected,
                 const StepResult& got, std::size_t rank) {
  if (auto events = expected.find("events"))
    expect_events(report, who, read_events(*events), got.events);
  else
    expect_events(report, who, {}, got.events);
  for (const char* name : {"keys", "placements"}) {
    auto field = expected.find(name);
    if (!field || got.keys.is_null()) continue;
    expect_same(report, who + "." + name, of_rank(field->value(), rank),
                std::string_view(name) == "keys" ? got.keys : got.placements);
  }
}

}  // namespace

void verify_fsdp_state_dict(const RecordedCase& recorded, const VerifyOptions& options,
                            CaseReport& report) {
  FsdpPlan plan = read_fsdp_plan(recorded);
  std::vector<ProgramStep> program = read_program(recorded["program"], plan.model.dtype);
  std::vector<CaseField> steps = recorded["program"].items();
  std::vector<std::vector<StepResult>> of_ranks(std::size_t(plan.world));
  World world(world_options(options, plan.world));
  auto error = run_case(
      world, [&](Rank& rank) { of_ranks[rank.id()] = run_steps(plan, program, rank); }, report);
  if (error) report.mismatch(fmt::format("expected a run, got {}", error->what()));
  if (report.failed()) return;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const std::vector<StepResult>& results = of_ranks[rank];
    Json facts = recorded["start"].value();
    expect_same(report, fmt::format("rank {}: start", rank), of_rank(facts, rank),
                results[0].facts);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::string who = fmt::format("rank {}: step {} ({})", rank, i, program[i].act);
      if (i + 1 >= results.size()) break;
      const StepResult& got = results[i + 1];
      auto raises = steps[i].find("raises");
      std::string wanted = !raises || raises->is_null() ? ""
                           : raises->is_text()          ? raises->text()
                                                        : (*raises)["type"].text();
      report.expect_equal(who + ": raised", wanted, got.raised);
      if (!got.raised.empty()) break;
      if (auto named = steps[i].find("facts")) facts = merged(facts, named->value());
      expect_same(report, who, of_rank(facts, rank), got.facts);
      expect_step(report, who, steps[i], got, rank);
    }
  }
}

}  // namespace simmesh
