#include "gate/tables/learning_rate.h"

#include <algorithm>
#include <fmt/format.h>

#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

optim::LearningRate main_rate(const GateLearningRate& schedule) {
  using optim::LearningRate;
  if (schedule.kind == "step")
    return LearningRate::step({.every = schedule.every, .gamma = schedule.gamma});
  if (schedule.kind == "multi_step")
    return LearningRate::multi_step(schedule.milestones, schedule.gamma);
  if (schedule.kind == "exponential") return LearningRate::exponential(schedule.gamma);
  if (schedule.kind == "linear")
    return LearningRate::linear(
        {.steps = schedule.steps, .start = schedule.start, .end = schedule.end});
  if (schedule.kind == "cosine")
    return LearningRate::cosine({.steps = schedule.steps, .end = schedule.end});
  return LearningRate::constant();
}

}  // namespace

optim::LearningRate GateLearningRate::rate() const {
  if (warmup == 0) return main_rate(*this);
  return optim::LearningRate::linear({.steps = warmup, .start = warmup_start, .end = 1.0})
      .then(warmup, main_rate(*this));
}

GateLearningRate read_gate_learning_rate(GateTable& table) {
  constexpr GateTable::Range steps_range{1, 1'000'000};
  constexpr GateTable::NumberRange factors{0, 1e6};
  GateLearningRate schedule;
  schedule.kind = table.word("kind", schedule.kind,
                             {"constant", "step", "multi_step", "exponential", "linear", "cosine"});
  schedule.warmup = table.integer("warmup", 0, {0, 1'000'000});
  if (schedule.warmup > 0)
    schedule.warmup_start = table.number("warmup_start", schedule.warmup_start, factors);
  const std::string& kind = schedule.kind;
  if (kind == "step") schedule.every = table.integer("every", schedule.every, steps_range);
  if (kind == "step" || kind == "multi_step" || kind == "exponential")
    schedule.gamma = table.number("gamma", schedule.gamma, factors);
  if (kind == "multi_step") {
    Shape milestones = table.sizes("milestones", {1}, {0, 1'000'000});
    schedule.milestones.assign(milestones.begin(), milestones.end());
    if (!std::is_sorted(milestones.begin(), milestones.end()))
      table.reject_value("milestones", "steps in ascending order", toml_sizes(milestones));
  }
  if (kind == "linear") schedule.start = table.number("start", schedule.start, factors);
  if (kind == "cosine") schedule.end = 0.0;
  if (kind == "linear" || kind == "cosine") {
    schedule.steps = table.integer("steps", schedule.steps, steps_range);
    schedule.end = table.number("end", schedule.end, factors);
  }
  table.finish();
  return schedule;
}

std::string learning_rate_entry(const GateLearningRate& schedule) {
  const std::string& kind = schedule.kind;
  std::string text = fmt::format("{{ kind = \"{}\", warmup = {}", kind, schedule.warmup);
  if (schedule.warmup > 0)
    text += fmt::format(", warmup_start = {}", toml_number(schedule.warmup_start));
  if (kind == "step") text += fmt::format(", every = {}", schedule.every);
  if (kind == "step" || kind == "multi_step" || kind == "exponential")
    text += fmt::format(", gamma = {}", toml_number(schedule.gamma));
  if (kind == "multi_step")
    text += fmt::format(", milestones = {}", toml_sizes(schedule.milestones));
  if (kind == "linear") text += fmt::format(", start = {}", toml_number(schedule.start));
  if (kind == "linear" || kind == "cosine")
    text += fmt::format(", steps = {}, end = {}", schedule.steps, toml_number(schedule.end));
  return text + " }";
}

}  // namespace simmesh
