#include "training/router_batch.h"

#include <algorithm>
#include <numeric>

#include "core/arithmetic/unrounded.h"
#include "core/autograd/backward.h"
#include "core/check/check.h"
#include "core/check/error.h"
#include "core/clock/clock.h"
#include "core/engine/run/known.h"
#include "core/memory/data_mode.h"
#include "core/nn/dropout.h"
#include "core/ops/compute_mode.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/tensor/known_tensor.h"
#include "core/tensor/scalar_value.h"
#include "core/tensor/vector_of.h"
#include "training/pipeline_ranks.h"
#include "training/rank_rows.h"

namespace simmesh {

namespace {

constexpr std::string_view router_source = "training/router_batch";

bool has_dropout(nn::Module& model) {
  for (const auto& [path, module] : model.named_modules())
    if (dynamic_cast<nn::Dropout*>(module)) return true;
  return false;
}

// True if a decision depends on the choices of all tokens.
bool needs_loads(const nn::Moe& moe) {
  return moe.capacity_of(1) > 0 || moe.options().router.aux_loss != 0.0;
}

// Returns the part of a decision for so many tokens from `first` on.
std::vector<nn::ExpertTokens> part_of_experts(const std::vector<nn::ExpertTokens>& experts,
                                              std::int64_t first, std::int64_t count,
                                              std::int64_t top_k) {
  std::vector<nn::ExpertTokens> result;
  for (const nn::ExpertTokens& expert : experts) {
    nn::ExpertTokens& part = result.emplace_back();
    for (std::size_t i = 0; i < expert.tokens.size(); ++i) {
      if (expert.tokens[i] < first || expert.tokens[i] >= first + count) continue;
      part.tokens.push_back(expert.tokens[i] - first);
      part.slots.push_back(expert.slots[i] - first * top_k);
    }
  }
  return result;
}

// Forced choices have values in a world of shapes only too, and so has their copy.
Tensor copy_of_choices(const Tensor& experts) {
  DataModeScope as_it_is(!experts.has_elements());
  return experts.clone();
}

void check_rows(const Shape& x) {
  if (x.size() > 3)
    raise(ErrorKind::value_error, router_source,
          "expected experts on [rows, width] or [rows, positions, width], got {}",
          to_string(DimSpan(x)));
}

}  // namespace

RouterBatch::RouterBatch(nn::Module& model, const TrainingTask& task, const ParallelForm& form)
    : RouterBatch(model, task, form, router_needs(model, task.micro_batches),
                  [&model](const Tensor& input) { model(input); }) {}

RouterBatch::RouterBatch(nn::Module& model, const TrainingTask& task, const ParallelForm& form,
                         const RouterNeeds& needs, RunWhole run_whole)
    : task_(task), form_(form), needs_(needs), run_whole_(std::move(run_whole)) {
  for (const auto& [path, module] : model.named_modules()) {
    auto* moe = dynamic_cast<nn::Moe*>(module);
    if (!moe) continue;
    bool has_batch =
        moe->needs_batch() || moe->bias().is_defined() || moe->options().router.force_load_balance;
    if (has_batch) routers_.push_back({.moe = moe, .path = path});
  }
  if (needs_.plan && has_dropout(model))
    raise(ErrorKind::value_error, router_source,
          "expected a model without dropout, which draws by the micro-batch, where a capacity or a "
          "load balance loss is that of {} micro-batches",
          task.micro_batches);
  for (Router& router : routers_) router.moe->set_batch(this);
}

RouterBatch::~RouterBatch() {
  for (Router& router : routers_) router.moe->set_batch(nullptr);
}

RouterBatch::Router& RouterBatch::router_of(const nn::Moe& moe) {
  for (Router& router : routers_)
    if (router.moe == &moe) return router;
  SIMMESH_CHECK(false, "expected a module of the model");
}

void RouterBatch::begin_step(std::int64_t step) {
  if (routers_.empty() && !needs_.plan) return;
  micro_batches_.clear();
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < task_.micro_batches; ++i) {
    Tensor input = task_.batch(step, i).input;
    micro_batches_.push_back({start, input.size(0)});
    start += input.size(0);
    positions_ = input.dim() > 1 ? input.size(1) : 1;
  }
  for (Router& router : routers_) {
    router.plan.clear();
    router.calls.clear();
    router.loads.assign(std::size_t(router.moe->options().experts), 0);
  }
  if (needs_.plan) make_plan(step);
}

void RouterBatch::make_plan(std::int64_t step) {
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < task_.micro_batches; ++i)
    parts.push_back(part_of(task_.batch(step, i).input, form_));
  NoGrad mode;
  is_planning_ = true;
  run_whole_(cat(parts));
  is_planning_ = false;
  for (Router& router : routers_) {
    router.plan = std::move(calls_of(router));
    router.calls.clear();
  }
}

std::int64_t RouterBatch::tokens_of_step(const Shape& x) const {
  std::int64_t rows = micro_batches_.back().start + micro_batches_.back().rows;
  return x.size() > 2 ? rows * positions_ : rows;
}

std::vector<std::int64_t> RouterBatch::numbers(const nn::Moe&, const Shape& x) {
  check_rows(x);
  bool by_position = x.size() == 3;
  std::size_t first = is_planning_ ? 0 : current_;
  std::size_t count = is_planning_ ? micro_batches_.size() : 1;
  std::vector<std::int64_t> key{by_position, positions_};
  for (std::size_t i = first; i < first + count; ++i) {
    key.push_back(micro_batches_[i].start);
    key.push_back(micro_batches_[i].rows);
  }
  auto found = numbers_.find(key);
  if (found != numbers_.end()) return found->second;
  Ledger::Uncharged host;
  Clock::Quiet no_launches;
  TokenNumbers own;
  for (std::size_t i = first; i < first + count; ++i)
    numbers_of(micro_batches_[i], by_position, own);
  return numbers_.emplace(key, std::move(own.own)).first->second;
}

// The numbers are values in a world of shapes only too.
void RouterBatch::numbers_of(const MicroBatch& micro, bool by_position,
                             TokenNumbers& numbers) const {
  DataModeScope with_values(false);
  std::int64_t width = by_position ? positions_ : 1;
  std::vector<std::int64_t> all(std::size_t(micro.rows * width));
  std::iota(all.begin(), all.end(), micro.start * width);
  Tensor rows = vector_of<std::int64_t>(all);
  Tensor own;
  if (by_position) {
    own = part_of(rows.view(DimSpan({micro.rows, width})), form_);
  } else {
    Chunk chunk = rows_of(micro.rows, form_);
    own = rows.narrow({0, chunk.start, chunk.length}).contiguous();
  }
  auto values = own.values<std::int64_t>();
  numbers.own.insert(numbers.own.end(), values.begin(), values.end());
}

const TokenRanking& RouterBatch::ranking(bool by_position) {
  std::vector<std::int64_t> key{by_position, positions_};
  for (const MicroBatch& micro : micro_batches_) key.push_back(micro.rows);
  auto found = rankings_.find(key);
  if (found != rankings_.end()) return found->second;
  TokenNumbers numbers;
  for (const MicroBatch& micro : micro_batches_) {
    numbers_of(micro, by_position, numbers);
    numbers.count += micro.rows * (by_position ? positions_ : 1);
  }
  return rankings_.emplace(key, TokenRanking(std::move(numbers), form_.all_sum)).first->second;
}

nn::RoutingDecision RouterBatch::planned(Router& router, const nn::Routing& routing) {
  std::size_t call = calls_of(router).size();
  SIMMESH_CHECK(call < router.plan.size(), "expected as many calls as in the plan");
  const nn::RoutingDecision& whole = router.plan[call].decision;
  std::int64_t count = routing.experts.size(0), own = 0, before = 0;
  for (std::size_t i = 0; i < micro_batches_.size(); ++i) {
    std::int64_t rows = rows_of(micro_batches_[i].rows, form_).length;
    if (i < current_) before += rows;
    if (i == current_) own = rows;
  }
  std::int64_t first = own == 0 ? 0 : before * (count / own);
  return {part_of_experts(whole.experts, first, count, routing.experts.size(1)), whole.load};
}

nn::RoutingDecision RouterBatch::new_decision(Router& router, const nn::Routing& routing,
                                              const Shape& x) {
  const nn::Moe::Options& options = router.moe->options();
  router.tokens = tokens_of_step(x);
  if (!needs_loads(*router.moe))
    return {nn::assign_tokens(routing.experts, {.experts = options.experts}), {{}, router.tokens}};
  if (needs_.plan && !is_planning_) return planned(router, routing);
  check_rows(x);
  return ranking(x.size() == 3).decide(*router.moe, routing);
}

nn::RoutingDecision RouterBatch::decide(const nn::Moe& moe, const nn::Routing& routing,
                                        const Shape& x) {
  Router& router = router_of(moe);
  if (current_backward()) {
    std::vector<Call>& calls = calls_of(router);
    auto is_same = [&](const Call& call) {
      return same_bits(call.experts, routing.experts) &&
             (!routing.chosen.has_elements() || same_bits(call.chosen, routing.chosen));
    };
    auto find = [&] { return std::find_if(calls.begin(), calls.end(), is_same) - calls.begin(); };
    auto found = std::size_t(
        std::stoull(known_text("a recomputed routing", [&] { return std::to_string(find()); })));
    SIMMESH_CHECK(found < calls.size(),
                  "expected a recomputation to make the choices of its forward pass");
    return calls[found].decision;
  }
  nn::RoutingDecision decision = new_decision(router, routing, x);
  if (!is_planning_ && router.moe->bias().is_defined()) {
    std::vector<std::int64_t> loads = nn::loads_of(routing.experts, moe.options().experts);
    for (std::size_t i = 0; i < loads.size(); ++i) router.loads[i] += loads[i];
  }
  Ledger::Uncharged host;
  calls_of(router).push_back(
      {copy_of_choices(routing.experts), routing.chosen.detach().clone(), decision});
  return decision;
}

double RouterBatch::add_terms(const nn::Moe& moe, const Tensor& terms) {
  if (!is_planning_ && !current_backward() && form_.reports) {
    Ledger::Uncharged host;
    router_of(moe).terms.push_back(terms.clone());
  }
  return form_.gradient_divisor * form_.gradient_factor;
}

RouterBatch::StepLoss RouterBatch::step_loss(const Router& router) const {
  Ledger::Uncharged host;
  Clock::Quiet no_launches;
  KeepUnrounded scope;
  StepLoss loss{router.path, router.tokens, 0.0, {}};
  bool is_exact = current_arithmetic().is_exact();
  if (is_exact) loss.exact.push_back(CarriedSums::zeros(1));
  if (router.terms.empty()) return loss;
  Tensor total = sum(cat(router.terms));
  loss.value = scalar_value_or(total, 0.0);
  if (is_exact && total.has_elements()) loss.exact.front() = unrounded(total);
  return loss;
}

void RouterBatch::end_step() {
  std::vector<StepLoss>& losses = losses_.emplace_back();
  for (Router& router : routers_) {
    if (router.moe->options().router.has_losses()) losses.push_back(step_loss(router));
    router.terms.clear();
    router.calls.clear();
    router.plan.clear();
    if (!router.moe->bias().is_defined()) continue;
    Tensor loads = vector_of<std::int64_t>(router.loads);
    if (form_.all_sum) loads = form_.all_sum(loads);
    std::vector<std::int64_t> summed = router.loads;
    loads = known_tensor(loads, "loads of experts");
    if (loads.has_elements()) {
      auto values = loads.values<std::int64_t>();
      summed.assign(values.begin(), values.end());
    }
    NoGrad mode;
    router.moe->set_bias(
        nn::balanced_bias(router.moe->bias(), summed, router.moe->options().router.bias_rate));
  }
}

std::vector<double> RouterBatch::losses_of(const std::vector<StepLoss>& own) const {
  Tensor sums = empty({std::int64_t(own.size())}, DType::float64);
  bool has_values = sums.has_elements();
  for (std::size_t i = 0; has_values && i < own.size(); ++i)
    sums.mutable_values<double>()[i] = own[i].value;
  for (std::size_t i = 0; has_values && i < own.size(); ++i) {
    if (own[i].exact.empty()) continue;
    Tensor sum = sums.narrow({.dim = 0, .start = std::int64_t(i), .length = 1});
    keep_unrounded(sum, own[i].exact.front());
  }
  KeepUnrounded scope;
  if (form_.all_sum) sums = form_.all_sum(sums);
  std::vector<double> losses;
  for (std::size_t i = 0; i < own.size(); ++i) {
    Tensor sum = sums.narrow({.dim = 0, .start = std::int64_t(i), .length = 1});
    double value = 0.0;
    if (has_values)
      value = own[i].exact.empty() ? sum.values<double>()[0]
                                   : unrounded(sum).rounded(0, DType::float64);
    losses.push_back(value / double(std::max<std::int64_t>(1, own[i].tokens)));
  }
  return losses;
}

double RouterBatch::loss_of(std::size_t step) const {
  const std::vector<StepLoss>& own = losses_[step];
  std::vector<double> losses = losses_of(own);
  if (form_.pipeline) {
    std::vector<nn::NamedTensor> named;
    for (std::size_t i = 0; i < own.size(); ++i)
      named.emplace_back(own[i].path, full(DimSpan(), DType::float64, losses[i]));
    losses.clear();
    for (const auto& [path, loss] : form_.pipeline->complete(named))
      losses.push_back(scalar_value_or(loss, 0.0));
  }
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace simmesh
