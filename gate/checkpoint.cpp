#include "gate/checkpoint.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include "checkpoint/save_load/save.h"
#include "checkpoint/zero_cost/async_save.h"
#include "checkpoint/zero_cost/zero_cost_saver.h"

namespace simmesh {

std::string_view to_string(SaveMode mode) {
  return mode == SaveMode::blocking ? "blocking" : mode == SaveMode::async ? "async" : "zero_cost";
}

std::string GateCheckpoint::name() const {
  std::string saved = mode == SaveMode::async       ? " after an async save"
                      : mode == SaveMode::zero_cost ? " after a zero-cost save"
                                                    : "";
  return fmt::format("resume on {}{}", to_string(DimSpan(resume_on.layout.shape)), saved);
}

namespace {

using MakeState = std::function<checkpoint::StateDict()>;

checkpoint::StateDict with_step(const MakeState& state, std::int64_t steps,
                                const MovingAverages& averages = {}) {
  checkpoint::StateDict whole = state();
  whole.add(saved_step_name, steps);
  if (averages) averages->add_to(whole);
  return whole;
}

ParallelForm with_async_save(ParallelForm form, const GateSave& save,
                             const MovingAverages& averages) {
  auto saving = std::make_shared<std::optional<checkpoint::AsyncSave>>();
  form.after_step = [save, saving, averages, next = std::move(form.after_step)](
                        std::int64_t step, const MakeState& state) {
    if (next) next(step, state);
    if (step + 1 == save.save_at)
      *saving = checkpoint::async_save(with_step(state, save.save_at, averages), save.location,
                                       {.save = save.contents.options()});
  };
  form.after_training = [saving, next = std::move(form.after_training)] {
    if (next) next();
    (*saving)->wait();
  };
  return form;
}

std::int64_t trained_parameters(nn::Module& model) {
  std::int64_t count = 0;
  for (const Tensor& parameter : model.parameters()) count += parameter.requires_grad();
  return count;
}

// Adds a ZeroCostSaver, with a hook for the gradient of each parameter.
ParallelForm with_zero_cost_save(ParallelForm form, const GateSave& save,
                                 std::int64_t micro_batches) {
  auto saver = std::make_shared<std::optional<checkpoint::ZeroCostSaver>>();
  form.prepare = [saver, save, micro_batches, next = std::move(form.prepare)](nn::Module& model) {
    if (next) next(model);
    std::int64_t hooks = std::max<std::int64_t>(1, micro_batches * trained_parameters(model));
    saver->emplace(checkpoint::ZeroCostOptions{.save = save.contents.options(),
                                               .hook_capacity = hooks,
                                               .copied_at_once = checkpoint::buffer_names(model),
                                               .ema = save.contents.ema});
    (*saver)->hook_into(model);
  };
  form.at_phase = [saver, next = std::move(form.at_phase)](std::int64_t step, TrainPhase phase) {
    if (next) next(step, phase);
    if (phase == TrainPhase::optimizer) (*saver)->before_step();
  };
  form.after_step = [saver, save, next = std::move(form.after_step)](std::int64_t step,
                                                                     const MakeState& state) {
    if (next) next(step, state);
    checkpoint::ZeroCostSaver::Step now = {.number = step + 1};
    if (step + 1 == save.save_at) now.save_to = save.location;
    (*saver)->after_step([&] { return with_step(state, save.save_at); }, now);
  };
  form.after_training = [saver, next = std::move(form.after_training)] {
    if (next) next();
    (*saver)->finish();
  };
  return form;
}

}  // namespace

MovingAverages with_averages(ParallelForm& form, const checkpoint::EmaOptions& options) {
  auto averages = std::make_shared<checkpoint::EmaState>(options);
  form.after_step = [averages, options, next = std::move(form.after_step)](std::int64_t step,
                                                                           const MakeState& state) {
    if (next) next(step, state);
    Ledger::Uncharged host;
    if (options.is_due(step + 1, {})) averages->update(state());
  };
  return averages;
}

ParallelForm with_save(ParallelForm form, const GateSave& save, std::int64_t micro_batches,
                       const MovingAverages& averages) {
  if (save.mode == SaveMode::async) return with_async_save(std::move(form), save, averages);
  if (save.mode == SaveMode::zero_cost)
    return with_zero_cost_save(std::move(form), save, micro_batches);
  form.save = [save, averages](checkpoint::StateDict& state) {
    state.add(saved_step_name, save.save_at);
    if (averages) averages->add_to(state);
    checkpoint::save(state, save.location, save.contents.options());
  };
  return form;
}

namespace {

std::optional<checkpoint::EmaOptions> read_average(GateTable& table) {
  auto own = table.table("ema");
  if (!own) return std::nullopt;
  checkpoint::EmaOptions options;
  options.decay = own->number("decay", options.decay, {0, 1});
  options.interval = own->integer("interval", options.interval, {1, 10'000});
  bool from_first = own->word("start", "zeros", {"zeros", "first_value"}) == "first_value";
  if (from_first) options.start = checkpoint::MovingAverage::Start::first_value;
  own->finish();
  return options;
}

}  // namespace

GateCheckpoint read_gate_checkpoint(GateTable& table, const ExpectUse& use) {
  GateCheckpoint checkpoint;
  if (use.steps < 2)
    table.reject("save_at", "no such table in a gate of one step, which has none to go on with");
  checkpoint.save_at = table.integer("save_at", 1, {1, use.steps - 1});
  std::string mode = table.word("mode", "blocking", {"blocking", "async", "zero_cost"});
  checkpoint.mode = mode == "async"       ? SaveMode::async
                    : mode == "zero_cost" ? SaveMode::zero_cost
                                          : SaveMode::blocking;
  bool is_modular = table.word("layout", "one_file", {"one_file", "modular"}) == "modular";
  if (is_modular) checkpoint.contents.layout = checkpoint::SaveLayout::modular;
  checkpoint.contents.keeps_local = table.boolean("keeps_local", false);
  checkpoint.contents.ema = read_average(table);
  auto other = table.table("resume_on");
  checkpoint.resumes_alike = !other;
  if (other)
    checkpoint.resume_on = read_other_run(*other, use);
  else
    checkpoint.resume_on = {.layout = use.layout, .parallel = use.parallel};
  table.finish();
  return checkpoint;
}

}  // namespace simmesh
