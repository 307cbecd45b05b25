#include "zero/fetch/coordinator.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh::zero {

namespace {

constexpr std::int64_t never = -10'000'000'000;

}  // namespace

Coordinator::Coordinator(FetchGraph graph, const FetchSettings& settings, FetchSink& sink)
    : graph_(std::move(graph)),
      settings_(settings),
      sink_(sink),
      statuses_(graph_.param_count()),
      recent_(graph_.param_count(), never),
      asked_(graph_.param_count()),
      in_flight_(graph_.param_count()),
      recomputed_(graph_.module_count()) {}

Event Coordinator::event(EventKind kind) const {
  return {.kind = kind,
          .step = step_,
          .mode = trace_.mode(),
          .available = available_,
          .queue_length = queue_length(),
          .order_length = std::int64_t(trace_.modules().size())};
}

void Coordinator::reset() {
  is_observed_ = zero::is_observed();
  if (is_observed_) emit(event(EventKind::reset));
  drop_in_flight();
  adapt_prefetch_bucket();
  if (trace_.mode() != TraceMode::complete) {
    sink_.agree("modules in the trace",
                std::vector<std::int64_t>(trace_.modules().begin(), trace_.modules().end()));
    if (trace_.mode() == TraceMode::record) {
      trace_.complete(graph_);
      std::vector<std::int64_t> params, steps;
      for (const FetchTrace::Need& need : trace_.needs()) {
        params.push_back(need.param);
        steps.push_back(need.step);
      }
      sink_.agree("parameters in the trace", params);
      sink_.agree("steps in the trace", steps);
    } else {
      trace_.begin();
    }
  }
  queue_head_ = 0;
  std::fill(recent_.begin(), recent_.end(), never);
  step_ = 0;
  available_ = 0;
  if (settings_.faults.counts_fetched_only) return;
  for (std::size_t i = 0; i < graph_.param_count(); ++i)
    if (statuses_.of(ParamId(i)) != ParamStatus::not_available)
      available_ += graph_.param(ParamId(i)).numel;
}

void Coordinator::adapt_prefetch_bucket() {
  if (settings_.adapts_prefetch_bucket && came_late_)
    settings_.prefetch_bucket_size =
        std::max(settings_.prefetch_bucket_size,
                 std::min(2 * settings_.prefetch_bucket_size, settings_.max_live_parameters));
  came_late_ = false;
}

void Coordinator::invalidate() {
  if (is_observed_) emit(event(EventKind::invalidate));
  trace_.invalidate();
  if (!settings_.faults.remembers_stale_releases) rule_.forget();
  queue_head_ = 0;
  std::fill(recent_.begin(), recent_.end(), never);
  drop_in_flight();
}

void Coordinator::enter(ModuleId module, Pass pass) {
  graph_.check_module(module);
  is_observed_ = zero::is_observed();
  bool is_current = settings_.faults.breaks_on_changes || trace_.is_current(module, graph_);
  if (!trace_.continues(step_, module) || !is_current) invalidate();
  if (trace_.mode() == TraceMode::record) trace_.record(module);
  fetch(module, pass);
}

void Coordinator::use_in_backward(ModuleId module) {
  auto known = std::find(in_backward_.begin(), in_backward_.end(), module);
  if (known == in_backward_.end()) in_backward_.push_back(module);
}

void Coordinator::fetch(ModuleId module, Pass pass) {
  if (is_observed_) {
    Event entering = event(EventKind::enter);
    entering.module = module;
    entering.pass = pass;
    emit(entering);
  }
  if (pass == Pass::backward) use_in_backward(module);
  std::vector<ParamId> missing;
  for (ParamId id : graph_.needs(module))
    if (statuses_.of(id) == ParamStatus::not_available) missing.push_back(id);
  came_late_ |= !missing.empty() && step_ > 0 && trace_.mode() == TraceMode::complete;
  if (!missing.empty()) gather(std::move(missing), EventKind::fetch);
  bool is_recomputed = pass == Pass::forward && !in_backward_.empty();
  for (ParamId id : graph_.needs(module)) {
    statuses_.use(id, module, pass);
    if (is_recomputed && !graph_.param(id).requires_grad) {
      statuses_.use(id, in_backward_.back(), Pass::backward);
      recomputed_[std::size_t(in_backward_.back())].push_back(id);
    }
    if (in_flight_.contains(id)) wait(id);
  }
  if (trace_.mode() == TraceMode::complete) {
    take_from_queue(module);
    if (settings_.prefetch_bucket_size > 0) prefetch();
  }
  ++step_;
  if (!is_observed_) return;
  Event done = event(EventKind::entered);
  done.module = module;
  emit(done);
}

// Takes from the queue the parameters that the module needs and nobody took before.
void Coordinator::take_from_queue(ModuleId module) {
  const std::vector<FetchTrace::Need>& needs = trace_.needs();
  std::uint64_t wanted = ++asking_, given = ++asking_;
  std::size_t missing = 0;
  for (ParamId id : graph_.needs(module)) {
    if (recent_[std::size_t(id)] >= step_) continue;
    asked_[std::size_t(id)] = wanted;
    ++missing;
  }
  bool is_other = false;
  for (; missing > 0 && queue_head_ < needs.size(); ++queue_head_) {
    const FetchTrace::Need& need = needs[queue_head_];
    auto index = std::size_t(need.param);
    recent_[index] = need.step;
    if (asked_[index] == given) continue;
    is_other |= asked_[index] != wanted;
    asked_[index] = given;
    --missing;
  }
  if (is_other || missing > 0)
    raise(ErrorKind::runtime_error, "zero/coordinator",
          "tracing error at step {}: module {} needs other parameters than the trace says", step_,
          module);
}

void Coordinator::prefetch() {
  const std::vector<FetchTrace::Need>& needs = trace_.needs();
  std::int64_t limit =
      std::min(settings_.max_live_parameters - available_, settings_.prefetch_bucket_size);
  std::vector<ParamId> taken;
  std::int64_t numel = 0;
  ++asking_;
  for (; queue_head_ < needs.size() && numel < limit; ++queue_head_) {
    const FetchTrace::Need& need = needs[queue_head_];
    auto index = std::size_t(need.param);
    bool is_there = statuses_.of(need.param) != ParamStatus::not_available;
    if (!is_there && sink_.is_absent(need.param)) break;
    recent_[index] = std::max(recent_[index], need.step);
    if (is_there || was_asked_for(need.param)) continue;
    ask_for(need.param);
    taken.push_back(need.param);
    numel += graph_.param(need.param).numel;
  }
  if (numel > 0) gather(std::move(taken), EventKind::prefetch);
  sink_.read_ahead({needs.data() + queue_head_, needs.size() - queue_head_});
}

// Ranks agree because members are sorted, and because those with a secondary shard go first.
void Coordinator::gather(std::vector<ParamId> params, EventKind kind) {
  std::sort(params.begin(), params.end());
  for (ParamId id : params) available_ += graph_.param(id).numel;
  if (is_observed_) {
    Event gathering = event(kind);
    gathering.params = params;
    emit(gathering);
  }
  auto end = std::stable_partition(params.begin(), params.end(),
                                   [this](ParamId id) { return sink_.has_secondary(id); });
  auto count = std::size_t(end - params.begin());
  start({params.data(), count});
  start({params.data() + count, params.size() - count});
}

void Coordinator::start(gsl::span<const ParamId> params) {
  if (params.empty()) return;
  for (ParamId id : params) statuses_.begin_gather(id);
  in_flight_.start(params);
  sink_.gather(params);
}

void Coordinator::wait(ParamId param) {
  GathersInFlight::Waited waited = in_flight_.wait(param);
  sink_.wait(param);
  for (ParamId id : waited.completed) statuses_.finish_gather(id);
  if (!is_observed_) return;
  Event done = event(EventKind::wait);
  done.params = {param};
  done.gather = waited.gather;
  emit(done);
}

void Coordinator::drop_in_flight() {
  for (ParamId id : in_flight_.by_start()) {
    wait(id);
    release(id);
  }
}

// Nothing happens to a parameter that isn't available or is in use.
void Coordinator::release(ParamId param) {
  if (statuses_.of(param) != ParamStatus::available || statuses_.is_used(param)) return;
  statuses_.release(param);
  available_ -= graph_.param(param).numel;
  sink_.release(param);
  if (!is_observed_) return;
  Event released = event(EventKind::release);
  released.params = {param};
  emit(released);
}

void Coordinator::leave(ModuleId module, Pass pass) {
  graph_.check_module(module);
  is_observed_ = zero::is_observed();
  if (is_observed_) {
    Event leaving = event(EventKind::leave);
    leaving.module = module;
    leaving.pass = pass;
    emit(leaving);
  }
  gsl::span<const ParamId> given_up = graph_.needs(module);
  if (trace_.mode() == TraceMode::complete)
    given_up = rule_.given_up(module, step_, {graph_, trace_, recent_, settings_});
  leave_all(module, pass, given_up);
  if (!is_observed_) return;
  Event left = event(EventKind::left);
  left.module = module;
  emit(left);
}

void Coordinator::leave_all(ModuleId module, Pass pass, gsl::span<const ParamId> given_up) {
  bool ends_backward = pass == Pass::backward || settings_.faults.ends_use_by_recomputation;
  auto left = [&](ParamId id, bool gives_up) {
    if (ends_backward)
      statuses_.unuse(id, module);
    else
      statuses_.unuse(id, module, pass);
    if (gives_up && !graph_.is_returned(id)) release(id);
  };
  for (ParamId id : graph_.needs(module))
    left(id, std::binary_search(given_up.begin(), given_up.end(), id));
  if (pass == Pass::forward) return;
  in_backward_.erase(std::remove(in_backward_.begin(), in_backward_.end(), module),
                     in_backward_.end());
  for (ParamId id : std::exchange(recomputed_[std::size_t(module)], {}))
    left(id, !graph_.param(id).is_persistent);
}

void Coordinator::abandon(ModuleId module) {
  for (ParamId id : graph_.needs(module)) statuses_.unuse(id, module, Pass::forward);
}

void Coordinator::wait_for(ParamId param) {
  if (in_flight_.contains(param)) wait(param);
}

void Coordinator::end_backward() {
  is_observed_ = zero::is_observed();
  if (is_observed_) {
    Event ending = event(EventKind::leftovers);
    ending.modules = in_backward_;
    emit(ending);
  }
  while (!in_backward_.empty()) {
    ModuleId module = in_backward_.back();
    std::vector<ParamId> given_up;
    for (ParamId id : graph_.needs(module))
      if (!graph_.param(id).is_persistent) given_up.push_back(id);
    leave_all(module, Pass::backward, given_up);
  }
}

void Coordinator::release_all() {
  is_observed_ = zero::is_observed();
  if (is_observed_) emit(event(EventKind::step));
  for (std::size_t i = 0; i < graph_.param_count(); ++i)
    if (in_flight_.contains(ParamId(i))) wait(ParamId(i));
  in_backward_.clear();
  for (auto& params : recomputed_) params.clear();
  for (std::size_t i = 0; i < graph_.param_count(); ++i) {
    statuses_.forget_users(ParamId(i));
    release(ParamId(i));
  }
}

void Coordinator::register_external(ModuleId module, ParamId param, bool returned) {
  graph_.add_external(module, param, returned);
  is_observed_ = zero::is_observed();
  if (!is_observed_) return;
  Event registered = event(EventKind::external);
  registered.module = module;
  registered.params = {param};
  emit(registered);
}

void Coordinator::unregister_external(ModuleId module, ParamId param) {
  graph_.remove_external(module, param);
}

void Coordinator::gathered_elsewhere(ParamId param) {
  statuses_.begin_gather(param);
  statuses_.finish_gather(param);
  if (!settings_.faults.counts_fetched_only) available_ += graph_.param(param).numel;
}

void Coordinator::released_elsewhere(ParamId param) {
  statuses_.release(param);
  available_ -= graph_.param(param).numel;
}

}  // namespace simmesh::zero
