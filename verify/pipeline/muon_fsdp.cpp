#include <fmt/format.h>

#include "core/tensor/scalar_value.h"
#include "training/sharded_training.h"
#include "verify/case_kind.h"
#include "verify/case_model.h"
#include "verify/case_tensor.h"
#include "verify/case_work.h"
#include "verify/case_world.h"
#include "verify/pipeline/case_figures.h"
#include "verify/pipeline/muon_case.h"

namespace simmesh {

namespace {

constexpr std::int64_t muon_fsdp_world_max = 64;
constexpr std::int64_t muon_fsdp_steps_max = 1000;
constexpr std::uint64_t seeds_of_step = 1000;

schema::Fields result_fields() {
  using namespace schema;
  return {expected("losses", list(number(), {.min = 1})), expected("final", map(summary_schema()))};
}

Schema muon_fsdp_schema() {
  using namespace schema;
  Schema batch =
      formula_schema({required("shape", list(integer({.min = 1}), {.min = 1, .max = 64}))});
  Schema share = number_in(0.0, 1.0);
  Schema adamw = object({required("lr", number()), required("betas", tuple({number(), number()})),
                         required("eps", number()), required("weight_decay", number())});
  Fields fields = model_fields();
  Fields own = {required("world", integer({.min = 1, .max = muon_fsdp_world_max})),
                required("wraps", list(any_text())),
                required("input", batch),
                required("target", batch),
                required("steps", integer({.min = 1, .max = muon_fsdp_steps_max})),
                required("muon", object(muon_option_fields())),
                required("adamw", adamw),
                required("tolerance", object({required("rtol", share), required("atol", share)})),
                expected("one_device", object(result_fields()))};
  Fields results = result_fields();
  fields.insert(fields.end(), own.begin(), own.end());
  fields.insert(fields.end(), results.begin(), results.end());
  return object(std::move(fields));
}

Batch batch_at(const CaseTensor& input, const CaseTensor& target, std::int64_t step) {
  Formula x = input.data, y = target.data;
  x.seed += std::uint64_t(step) * seeds_of_step;
  y.seed += std::uint64_t(step) * seeds_of_step;
  return {formula(input.shape, x), formula(target.shape, y)};
}

TrainingTask read_muon_task(const RecordedCase& recorded) {
  TrainingTask task;
  task.model = read_model(recorded);
  task.steps = recorded["steps"].integer();
  auto read = [&](const char* name) {
    CaseField field = recorded[name];
    CaseTensor tensor{.shape = field["shape"].shape()};
    require_elements(field["shape"], tensor.shape, recorded["world"].integer());
    tensor.data = {.rule = rule_from_string(field["rule"].text()),
                   .seed = field["seed"].unsigned64(),
                   .dtype = task.model.dtype};
    if (auto below = field.find("below")) tensor.data.below = below->unsigned64();
    if (auto scale = field.find("scale")) tensor.data.scale = scale->number();
    return tensor;
  };
  CaseTensor input = read("input"), target = read("target");
  task.terms = double(numel(target.shape));
  task.batch = [input, target](std::int64_t step, std::int64_t) {
    return batch_at(input, target, step);
  };
  // As PyTorch does: the ops of a step redistribute.
  task.optimizer = MuonSpec{.muon = read_muon_options(recorded["muon"]),
                            .others = read_adam(recorded["adamw"], optim::WeightDecay::decoupled),
                            .by_ops = true};
  return task;
}

FsdpPlan read_muon_plan(const RecordedCase& recorded, const TrainingModel& model) {
  FsdpPlan plan{.model = model, .world = recorded["world"].integer()};
  plan.mesh = MeshPlan{.shape = {plan.world}};
  for (const std::string& module : recorded["wraps"].texts())
    plan.wraps.push_back({.modules = {module}});
  return plan;
}

// Compares a run with its fields.
template <class Fields>
void expect_run(CaseReport& report, const std::string& who, const Fields& fields,
                const TrainingResult& result, const FigureTolerance& tolerance) {
  std::vector<CaseField> losses = fields["losses"].items();
  if (report.expect_equal(who + "number of losses", losses.size(), result.losses.size()))
    for (std::size_t i = 0; i < losses.size(); ++i) {
      double wanted = losses[i].number(), got = scalar_value(result.losses[i]);
      if (!tolerance.holds(wanted, got, wanted))
        report.mismatch(fmt::format("{}losses[{}]: expected {}, got {}", who, i, wanted, got));
    }
  CaseField final = fields["final"];
  report.expect_equal(who + "final: parameters", final.size(), result.parameters.size());
  for (const auto& [name, tensor] : result.parameters) {
    std::string what = fmt::format("{}final {}", who, name);
    if (auto expected = final.find(name))
      expect_summary(report, what, *expected, tensor, tolerance);
    else
      report.mismatch(what + ": expected no such parameter");
  }
}

TrainingResult without_gradients(TrainingResult result) {
  result.gradients.clear();
  result.optimizer_state.clear();
  return result;
}

void verify_muon_fsdp(const RecordedCase& recorded, const VerifyOptions& options,
                      CaseReport& report) {
  TrainingTask task = read_muon_task(recorded);
  FsdpPlan plan = read_muon_plan(recorded, task.model);
  require_work(
      recorded["model"], plan.model,
      {.ranks = plan.world + 1, .steps = task.steps, .input = recorded["input"]["shape"].shape()});
  require_parameters(recorded["params"], plan.model);
  FigureTolerance tolerance{.each = recorded["tolerance"]["atol"].number(),
                            .share = recorded["tolerance"]["rtol"].number()};
  std::vector<TrainingResult> of_rank(std::size_t(plan.world));
  TrainingResult one_device;
  auto run = [&](std::int64_t ranks, auto body) {
    World world(world_options(options, ranks));
    auto error = run_case(world, body, report);
    if (error) report.mismatch(fmt::format("expected a training run, got {}", error->what()));
  };
  run(1, [&](Rank&) { one_device = without_gradients(train(task)); });
  run(plan.world, [&](Rank& rank) {
    ShardedTraining sharded(plan, {});
    TrainingResult& own = of_rank[rank.id()];
    own = without_gradients(train(task, sharded.form()));
    for (const auto& [name, parameter] : own.parameters) rank.record(parameter);
  });
  if (report.failed()) return;
  expect_run(report, "one device: ", recorded["one_device"], one_device, tolerance);
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank)
    expect_run(report, fmt::format("rank {}: ", rank), recorded, of_rank[rank], tolerance);
}

const CaseKind muon_fsdp_kind(
    {.name = "muon_fsdp",
     .summary = "losses and final parameters of a training run with Muon for matrices and AdamW "
                "for the rest, on one device and under `fully_shard`, within the case's tolerance",
     .schema = muon_fsdp_schema,
     .verifier = verify_muon_fsdp});

}  // namespace

}  // namespace simmesh
