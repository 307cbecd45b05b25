#include <optional>

#include "checkpoint/catalog/training_state.h"
#include "core/autograd/autocast.h"
#include "core/engine/ranks/annotation.h"
#include "core/engine/ranks/rank.h"
#include "core/nn/batch_rows.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "training/loss_sum.h"
#include "training/meta_init.h"
#include "training/rank_rows.h"
#include "training/router_batch.h"
#include "training/training.h"
#include "training/training_engine.h"

namespace simmesh {

namespace {

Tensor output_of(nn::Module& model, const TrainingTask& task, const Tensor& input) {
  std::optional<Autocast> scope;
  if (task.autocast) scope.emplace(*task.autocast);
  return model(input);
}

struct MicroBatch {
  std::int64_t step;
  std::int64_t index;
};

void run_micro_batch(nn::Module& model, TrainingEngine& engine, const TrainingTask& task,
                     const ParallelForm& form, const MicroBatch& micro, LossSum& sum) {
  Batch batch = task.batch(micro.step, micro.index);
  Tensor input = part_of(batch.input, form), target = part_of(batch.target, form);
  std::optional<nn::BatchRows> rows;
  if (form.parts > 1) rows.emplace(rows_of(batch.input.size(0), form), batch.input.size(0));
  Tensor terms = loss_terms(task.loss, output_of(model, task, input), target);
  Tensor loss =
      div(simmesh::sum(terms), task.terms / (form.gradient_divisor * form.gradient_factor));
  if (form.reports) sum.add(terms, loss);
  if (form.at_phase && micro.index + 1 == task.micro_batches)
    form.at_phase(micro.step, TrainPhase::backward);
  engine.backward(loss);
}

LossSum run_step(nn::Module& model, TrainingEngine& engine, RouterBatch& routers,
                 const TrainingTask& task, const ParallelForm& form, std::int64_t step,
                 TrainingResult& result) {
  LossSum sum;
  Annotation annotation = Annotation::step(step);
  if (form.at_phase) form.at_phase(step, TrainPhase::forward);
  routers.begin_step(step);
  for (std::int64_t micro = 0; micro < task.micro_batches; ++micro) {
    if (in_rank()) this_rank().heartbeat();
    if (form.before_micro_batch) form.before_micro_batch(model, micro + 1 == task.micro_batches);
    routers.begin_micro_batch(micro);
    run_micro_batch(model, engine, task, form, {step, micro}, sum);
  }
  if (form.after_backward) form.after_backward(model);
  routers.end_step();
  if (form.at_phase) form.at_phase(step, TrainPhase::optimizer);
  if (task.rate_factor) engine.set_rate_factor(task.rate_factor(step));
  engine.step(result);
  if (form.after_step) form.after_step(step, [&engine] { return state_of_run(engine); });
  return sum;
}

}  // namespace

TrainingResult train(const TrainingTask& task, const ParallelForm& form) {
  nn::ModulePtr model = task.init_on_meta ? build_meta_model(task.model) : build_model(task.model);
  if (form.prepare) form.prepare(*model);
  if (task.init_on_meta) init_from_meta(task.model, *model);
  std::unique_ptr<TrainingEngine> engine = form.make_engine ? form.make_engine(*model, task, form)
                                                            : make_local_engine(*model, task, form);
  RouterBatch routers(*model, task, form);
  TrainingResult result;
  std::vector<LossSum> sums;
  if (form.load) {
    checkpoint::StateDict state = state_of_run(*engine);
    result.first_step = form.load(state);
    engine->state_loaded();
  }
  for (std::int64_t step = result.first_step; step < task.steps; ++step)
    sums.push_back(run_step(*model, *engine, routers, task, form, step, result));
  if (form.save) {
    checkpoint::StateDict state = state_of_run(*engine);
    form.save(state);
  }
  if (form.after_training) form.after_training();
  if (!form.reports) return {};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Tensor loss = sums[i].value(task, form);
    if (routers.has_losses()) loss = add(loss, routers.loss_of(i));
    result.losses.push_back(loss);
  }
  engine->report(result);
  add_buffers(*model, form, result);
  return result;
}

}  // namespace simmesh
