#include <cmath>

#include "core/ops/compute_mode.h"
#include "core/tensor/scalar_value.h"
#include "training/sharded_training.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_model.h"
#include "verify/case_number.h"
#include "verify/case_tensor.h"
#include "verify/case_work.h"
#include "verify/case_world.h"
#include "verify/fsdp/read_plan.h"

namespace simmesh {

namespace {

constexpr std::int64_t training_steps_max = 100'000;

schema::Fields training_fields() {
  using namespace schema;
  Schema count = integer({.min = 1, .max = training_steps_max});
  Schema batch =
      formula_schema({required("shape", list(integer({.min = 1}), {.min = 1, .max = 64})),
                      optional("dtype", dtype_schema())});
  Schema clip = object(
      {required("max_norm", number()), required("norm", figure()), required("eps", number())});
  return fsdp_fields({required("steps", count), required("microbatches", count),
                      required("sync", word({"every", "last", "all_reduce_last"})),
                      required("input", batch), required("target", batch),
                      required("step_seed", seed()), required("microbatch_seed", seed()),
                      required("loss", word({"mse", "cross_entropy", "dot"})),
                      required("optimizer", optimizer_schema()), optional("clip", or_null(clip)),
                      expected("losses", list(figure(), {.min = 1}))});
}

Schema train_schema() {
  using namespace schema;
  Fields fields = training_fields();
  Schema summary =
      object({expected("sum", number()), expected("abs_sum", number()),
              expected("first", number()).or_absent(), expected("last", number()).or_absent()});
  Schema share = number_in(0.0, 1.0);
  fields.push_back(expected("grad_norms", list(figure(), {.min = 1})));
  fields.push_back(expected("final", map(summary)));
  fields.push_back(
      required("tolerance", object({required("rtol", share), required("atol", share)})));
  // The recorded system's result in a case that is disputed for it.
  fields.push_back(optional("clip_raises_by_rank", list(or_null(text()))));
  return object(std::move(fields));
}

Schema train_exact_schema() {
  using namespace schema;
  Fields fields = training_fields();
  fields.push_back(expected("grad_norms", list(figure(), {.min = 1})).or_absent());
  fields.push_back(expected("final", map(hash())));
  fields.push_back(expected("final_shape", map(shape_schema())));
  return object(std::move(fields));
}

struct Tolerance {
  double rtol = 0.0;
  double atol = 0.0;

  bool holds(double actual, double expected, double magnitude) const {
    if (std::isnan(expected)) return std::isnan(actual);
    if (std::isinf(expected)) return actual == expected;
    return actual == expected || std::abs(actual - expected) <= atol + rtol * magnitude;
  }
};

// Batches by formula, with the seeds of step and micro-batch added.
struct BatchRecord {
  CaseTensor input, target;
  std::uint64_t step_seed, microbatch_seed;

  Batch at(std::int64_t step, std::int64_t micro) const {
    std::uint64_t added = step_seed * std::uint64_t(step) + microbatch_seed * std::uint64_t(micro);
    Formula x = input.data, y = target.data;
    x.seed += added;
    y.seed += added;
    return {formula(input.shape, x), formula(target.shape, y)};
  }
};

CaseTensor read_batch(const CaseField& field, DType dtype) {
  CaseTensor tensor;
  tensor.shape = field["shape"].shape();
  require_elements(field["shape"], tensor.shape, 1);
  if (auto own = field.find("dtype")) dtype = dtype_from_string(own->text());
  tensor.data.dtype = dtype;
  tensor.data.rule = rule_from_string(field["rule"].text());
  tensor.data.seed = field["seed"].unsigned64();
  if (auto below = field.find("below")) tensor.data.below = below->unsigned64();
  if (auto scale = field.find("scale")) tensor.data.scale = scale->number();
  return tensor;
}

TrainingTask read_task(const RecordedCase& recorded) {
  TrainingTask task;
  task.model = read_model(recorded);
  task.steps = recorded["steps"].integer();
  task.micro_batches = recorded["microbatches"].integer();
  task.loss = loss_from_string(recorded["loss"].text()).value();
  task.optimizer = read_optimizer(recorded["optimizer"]);
  BatchRecord batches{read_batch(recorded["input"], task.model.dtype),
                      read_batch(recorded["target"], task.model.dtype),
                      recorded["step_seed"].unsigned64(), recorded["microbatch_seed"].unsigned64()};
  std::int64_t terms =
      task.loss == LossKind::dot ? batches.input.shape.at(0) : numel(batches.target.shape);
  task.terms = double(terms) * double(task.micro_batches);
  task.batch = [batches](std::int64_t step, std::int64_t micro) { return batches.at(step, micro); };
  if (auto clip = recorded.find("clip"); clip && !clip->is_null()) {
    task.clip = optim::ClipOptions{(*clip)["max_norm"].number(), read_number((*clip)["norm"]),
                                   (*clip)["eps"].number()};
    task.norm_type = task.clip->norm_type;
  }
  return task;
}

void expect_figures(CaseReport& report, std::string_view what, const CaseField& expected,
                    const std::vector<Tensor>& actual, const Tolerance& tolerance) {
  std::vector<CaseField> figures = expected.items();
  if (!report.expect_equal(fmt::format("{}: count", what), figures.size(), actual.size())) return;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    double wanted = read_number(figures[i]), got = scalar_value(actual[i]);
    if (!tolerance.holds(got, wanted, std::abs(wanted)))
      report.mismatch(fmt::format("{}[{}]: expected {}, got {}", what, i, wanted, got));
  }
}

// sum, sum of absolute values, first and last element, in double.
void expect_summary(CaseReport& report, const std::string& who, const CaseField& expected,
                    const Tensor& tensor, const Tolerance& tolerance) {
  std::vector<double> values = known_doubles(tensor);
  double sum = 0, abs_sum = 0;
  for (double value : values) {
    sum += value;
    abs_sum += std::abs(value);
  }
  double abs_expected = std::abs(expected["abs_sum"].number());
  auto check = [&](const char* field, double actual, double magnitude) {
    double wanted = expected[field].number();
    if (!tolerance.holds(actual, wanted, magnitude))
      report.mismatch(fmt::format("{}: {}: expected {}, got {}", who, field, wanted, actual));
  };
  check("sum", sum, abs_expected);
  check("abs_sum", abs_sum, abs_expected);
  bool has_ends = expected.has("first") && expected.has("last");
  if (!report.expect_equal(who + ": has elements", has_ends, !values.empty()) || !has_ends) return;
  check("first", values.front(), std::abs(expected["first"].number()));
  check("last", values.back(), std::abs(expected["last"].number()));
}

void expect_final(CaseReport& report, const std::string& rank, const RecordedCase& recorded,
                  const TrainingResult& result, const std::optional<Tolerance>& tolerance) {
  CaseField final = recorded["final"];
  std::size_t parameters = result.parameters.size();
  report.expect_equal(rank + "final: parameters", final.size(), parameters);
  if (!tolerance)
    report.expect_equal(rank + "final_shape: parameters", recorded["final_shape"].size(),
                        parameters);
  for (const auto& [name, tensor] : result.parameters) {
    std::string who = fmt::format("{}final {}", rank, name);
    auto expected = final.find(name);
    if (!expected) {
      report.mismatch(who + ": expected no such parameter");
    } else if (tolerance) {
      expect_summary(report, who, *expected, tensor, *tolerance);
    } else {
      report.expect_equal(who + ": hash", expected->text(), bits_text(tensor));
      report.expect_equal(who + ": shape", recorded["final_shape"][name].shape(), tensor.shape());
    }
  }
}

void expect_result(CaseReport& report, const std::string& rank, const RecordedCase& recorded,
                   const TrainingResult& result, const std::optional<Tolerance>& tolerance) {
  Tolerance close = tolerance.value_or(Tolerance());
  expect_figures(report, rank + "losses", recorded["losses"], result.losses, close);
  if (auto norms = recorded.find("grad_norms"))
    expect_figures(report, rank + "grad_norms", *norms, result.norms, close);
  expect_final(report, rank, recorded, result, tolerance);
}

void verify_train(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  TrainingTask task = read_task(recorded);
  FsdpPlan plan = read_fsdp_plan(recorded);
  require_work(recorded["model"], plan.model,
               {.ranks = plan.world,
                .steps = task.steps * task.micro_batches,
                .input = recorded["input"]["shape"].shape()});
  require_parameters(recorded["params"], plan.model);
  require_elements(recorded["target"]["shape"], recorded["target"]["shape"].shape(), plan.world);
  SyncMode sync = sync_from_string(recorded["sync"].text()).value();
  std::optional<Tolerance> tolerance;
  if (auto field = recorded.find("tolerance"))
    tolerance = Tolerance{(*field)["rtol"].number(), (*field)["atol"].number()};
  std::vector<TrainingResult> of_rank(std::size_t(plan.world));
  World world(world_options(options, plan.world));
  auto error = run_case(
      world,
      [&](Rank& rank) {
        ShardedTraining sharded(plan, {.sync = sync});
        TrainingResult& own = of_rank[rank.id()];
        own = train(task, sharded.form());
        for (const Tensor& loss : own.losses) rank.record(loss);
        for (const auto& [name, parameter] : own.parameters) rank.record(parameter);
        own.gradients.clear();
        own.optimizer_state.clear();
      },
      report);
  if (error) return report.mismatch(fmt::format("expected a training run, got {}", error->what()));
  if (report.failed()) return;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank)
    expect_result(report, fmt::format("rank {}: ", rank), recorded, of_rank[rank], tolerance);
}

const CaseKind train_kind({.name = "train",
                           .summary = "losses, gradient norms and final parameters of a training "
                                      "run, on one device or under `fully_shard`, on every rank, "
                                      "within the case's tolerance",
                           .schema = train_schema,
                           .verifier = verify_train});

const CaseKind train_exact_kind({.name = "train_exact",
                                 .summary = "the same bit for bit",
                                 .schema = train_exact_schema,
                                 .verifier = verify_train});

}  // namespace

}  // namespace simmesh
