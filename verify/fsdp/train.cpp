#include "verify/fsdp/train.h"

#include <cmath>

#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"
#include "training/scalar_value.h"
#include "training/sharded_training.h"
#include "verify/case_bits.h"
#include "verify/case_model.h"
#include "verify/case_number.h"
#include "verify/case_tensor.h"
#include "verify/case_world.h"
#include "verify/fsdp/read_plan.h"

namespace simmesh {

namespace {

struct Tolerance {
  double rtol = 0.0;
  double atol = 0.0;

  bool holds(double actual, double expected, double magnitude) const {
    if (std::isnan(expected)) return std::isnan(actual);
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

LossKind read_loss(const CaseField& field) {
  auto kind = loss_from_string(field.text());
  if (!kind) field.reject("mse, cross_entropy or dot");
  return *kind;
}

TrainingTask read_task(const RecordedCase& recorded) {
  TrainingTask task;
  task.model = read_model(recorded);
  constexpr CaseField::Range steps_range{1, 100'000};
  task.steps = recorded["steps"].integer(steps_range);
  task.micro_batches = recorded["microbatches"].integer(steps_range);
  task.loss = read_loss(recorded["loss"]);
  task.optimizer = read_optimizer(recorded["optimizer"]);
  BatchRecord batches{read_batch(recorded["input"], task.model.dtype),
                      read_batch(recorded["target"], task.model.dtype),
                      recorded["step_seed"].unsigned64(), recorded["microbatch_seed"].unsigned64()};
  std::int64_t terms =
      task.loss == LossKind::dot ? batches.input.shape.at(0) : element_count(batches.target.shape);
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
void expect_summary(CaseReport& report, const std::string& name, const CaseField& expected,
                    const Tensor& tensor, const Tolerance& tolerance) {
  Tensor rows = converted(tensor.contiguous(), DType::float64);
  auto values = rows.values<double>();
  double sum = 0, abs_sum = 0;
  for (double value : values) {
    sum += value;
    abs_sum += std::abs(value);
  }
  double abs_expected = std::abs(expected["abs_sum"].number());
  auto check = [&](const char* field, double actual, double magnitude) {
    double wanted = expected[field].number();
    if (!tolerance.holds(actual, wanted, magnitude))
      report.mismatch(
          fmt::format("final {}: {}: expected {}, got {}", name, field, wanted, actual));
  };
  check("sum", sum, abs_expected);
  check("abs_sum", abs_sum, abs_expected);
  if (values.empty()) return;
  check("first", values.front(), std::abs(expected["first"].number()));
  check("last", values.back(), std::abs(expected["last"].number()));
}

void expect_final(CaseReport& report, const RecordedCase& recorded, const TrainingResult& result,
                  const Tolerance& tolerance, bool is_exact) {
  CaseField final = recorded["final"];
  report.expect_equal("final: parameters", final.keys().size(), result.parameters.size());
  for (const auto& [name, tensor] : result.parameters) {
    auto expected = final.find(name);
    if (!expected) {
      report.mismatch(fmt::format("final: expected no parameter {}", name));
    } else if (is_exact) {
      report.expect_equal("final " + name + ": hash", expected->text(), bits_text(tensor));
      report.expect_equal("final " + name + ": shape", recorded["final_shape"][name].shape(),
                          tensor.shape());
    } else {
      expect_summary(report, name, *expected, tensor, tolerance);
    }
  }
}

SyncMode read_sync(const CaseField& field) {
  auto mode = sync_from_string(field.text());
  if (!mode) field.reject("every, last or all_reduce_last");
  return *mode;
}

}  // namespace

void verify_train(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  bool is_exact = recorded.kind() == "train_exact";
  TrainingTask task = read_task(recorded);
  FsdpPlan plan = read_fsdp_plan(recorded);
  SyncMode sync = read_sync(recorded["sync"]);
  Tolerance tolerance;
  if (!is_exact)
    tolerance = {recorded["tolerance"]["rtol"].number(), recorded["tolerance"]["atol"].number()};
  TrainingResult result;
  World world(world_options(options, plan.world));
  auto error = run_case(
      world,
      [&](Rank& rank) {
        ShardedTraining sharded(plan, {.sync = sync});
        TrainingResult own = train(task, sharded.form());
        for (const Tensor& loss : own.losses) rank.record(loss);
        for (const auto& [name, parameter] : own.parameters) rank.record(parameter);
        if (rank.id() == 0) result = std::move(own);
      },
      report);
  if (error) return report.mismatch(fmt::format("expected a training run, got {}", error->what()));
  if (report.failed()) return;
  expect_figures(report, "losses", recorded["losses"], result.losses, tolerance);
  if (auto norms = recorded.find("grad_norms"))
    expect_figures(report, "grad_norms", *norms, result.norms, tolerance);
  expect_final(report, recorded, result, tolerance, is_exact);
}

}  // namespace simmesh
