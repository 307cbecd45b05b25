#include "collectives/work.h"

#include "collectives/comm_event.h"
#include "collectives/device_launch.h"
#include "collectives/group.h"
#include "collectives/output_check.h"
#include "collectives/work_state.h"
#include "core/check/error.h"
#include "core/check/frames.h"
#include "core/engine/ranks/call_contents.h"

namespace simmesh {

namespace {

// A member alone would get no result of another collective, and nobody would object.
void expect_company(const ProcessGroup& group, const CollectiveCall& call) {
  if (group.group().membership().count_run() > 1) return;
  raise(ErrorKind::runtime_error, "collectives/mismatch",
        "rank {} calls another collective (injected) instead of {}, and no other member of group "
        "{} runs",
        group.owner().id(), to_string(call), group.group().membership().describe());
}

// FaultyCall is a call as the fault plan changes it. It owns the parts that differ.
class FaultyCall {
 public:
  FaultyCall(const CollectiveCall& call, const Fault& fault, const ProcessGroup& group)
      : call_(call) {
    if (fault.kind == Fault::Kind::abandon) throw RankEnded();
    if (fault.kind == Fault::Kind::call_another) {
      expect_company(group, call);
      bool was_barrier = call.op == CollectiveOp::barrier;
      call_ = {.op = was_barrier ? CollectiveOp::all_reduce : CollectiveOp::barrier,
               .site = call.site};
      if (was_barrier) inputs_.push_back(zeros({1}, DType::float32));
    } else if (fault.kind == Fault::Kind::flip_bit) {
      inputs_.assign(call.inputs.begin(), call.inputs.end());
      if (!inputs_.empty() && inputs_[0].has_elements() && inputs_[0].bytes() > 0) {
        inputs_[0] = inputs_[0].clone();
        std::uint64_t bit = fault.bit % (inputs_[0].bytes() * 8);
        inputs_[0].mutable_data()[bit / 8] ^= std::byte(1u << (bit % 8));
      }
    } else {
      return;
    }
    call_.inputs = inputs_;
  }

  const CollectiveCall& call() const { return call_; }

 private:
  CollectiveCall call_;
  std::vector<Tensor> inputs_;
};

Caller caller_of(const ProcessGroup& group) {
  const Group& shared = group.group();
  return {shared.membership(), group.member(), shared.next_sequence(group.member())};
}

// Lets the tensor take the bytes of the only part, which are charged to nobody.
void take_into(Tensor& target, const ProcessGroup& group, Arrival& arrival) {
  if (arrival.parts().empty()) return;
  Rank& rank = group.owner();
  // Only the size along a dim of uneven pieces wasn't known when the rank called.
  if (arrival.parts().front().shape != target.shape())
    refuse_call(ErrorKind::value_error, *arrival.call,
                {group.group().membership(), group.member(), arrival.sequence},
                fmt::format("expected an output of {}, got {}",
                            describe_operand(target.dtype(), arrival.parts().front().shape),
                            describe_operand(target.dtype(), target.shape())));
  rank.record(arrival.parts().front().hash);
  Clock::Quiet no_copy;
  Tensor part;
  {
    Ledger::Uncharged scope;
    part = arrival.parts().front().to_tensor();
  }
  adopt_(target, part);
  arrival.drop_parts();
}

void take_results(Rank& rank, Arrival& arrival, std::vector<Tensor>& results) {
  results.reserve(arrival.parts().size());
  for (const ResultPart& part : arrival.parts()) {
    rank.record(part.hash);
    results.push_back(part.to_tensor());
  }
  arrival.drop_parts();
}

// A rank takes the results of a complete call in one of four ways; `tensors` are those that a
// device writes. check_target raises before the call where they can't be taken.
struct AnyTarget {
  void check_target(const CollectiveCall&, const Caller&) const {}
};

// All makes tensors of all results.
struct All : AnyTarget {
  using Results = std::vector<Tensor>;

  Results take(Rank& rank, Arrival& arrival) const {
    Results results;
    if (!arrival.parts().empty()) take_results(rank, arrival, results);
    return results;
  }
  gsl::span<const Tensor> tensors(const Results& results) const { return results; }
};

// Only makes a tensor of the only result, undefined for none.
struct Only : AnyTarget {
  using Results = Tensor;

  Results take(Rank& rank, Arrival& arrival) const {
    return arrival.parts().empty() ? Tensor() : take_first(rank, arrival);
  }
  gsl::span<const Tensor> tensors(const Results& result) const { return {&result, 1}; }

 private:
  static Tensor take_first(Rank& rank, Arrival& arrival) {
    const ResultPart& part = arrival.parts().front();
    rank.record(part.hash);
    Tensor result = part.to_tensor();
    arrival.drop_parts();
    return result;
  }
};

struct Nothing {};

// Into lets a tensor that exists take the only result.
struct Into {
  using Results = Nothing;
  Tensor& target;
  const ProcessGroup& group;

  void check_target(const CollectiveCall& call, const Caller& caller) const {
    check_output(target, call, caller);
  }
  Results take(Rank&, Arrival& arrival) const {
    take_into(target, group, arrival);
    return {};
  }
  gsl::span<const Tensor> tensors(const Results&) const { return {&target, 1}; }
};

// None takes nothing: only a faulty barrier has results.
struct None : AnyTarget {
  using Results = Nothing;

  Results take(Rank& rank, Arrival& arrival) const {
    if (!arrival.parts().empty()) [[unlikely]]
      All().take(rank, arrival);
    return {};
  }
  gsl::span<const Tensor> tensors(const Results&) const { return {}; }
};

SIMMESH_OWN_FRAME void tell_completed(const ProcessGroup& group, const Arrival& arrival,
                                      gsl::span<const Tensor> results) {
  tell({.kind = CommEvent::Kind::collective,
        .group = group,
        .call = arrival.call,
        .sequence = arrival.sequence,
        .inputs = arrival.call->inputs,
        .results = results});
}

SIMMESH_OWN_FRAME void tell_started(const WorkState& state, gsl::span<const Tensor> inputs) {
  tell({.kind = CommEvent::Kind::collective,
        .group = state.group,
        .call = &state.call,
        .sequence = state.arrival.sequence,
        .work = &state,
        .inputs = inputs,
        .results = {&state.into, state.into.is_defined() ? 1u : 0u}});
}

bool block_on_until(Exchange& exchange, WorkState& state, const CallSite& site,
                    double deadline_seconds) {
  Arrival& arrival = state.arrival;
  Run& run = arrival.rank->run();
  arrival.is_blocked = true;
  bool was_woken = run.block_until(*arrival.rank,
                                   {.operation = name_of(arrival.call->op),
                                    .waits_for = &exchange,
                                    .sequence = exchange.sequence(),
                                    .site = site},
                                   deadline_seconds);
  arrival.is_blocked = false;
  if (!was_woken) run.look_late(*arrival.rank, state.object, site);
  return arrival.is_complete;
}

SIMMESH_CALLERS_FRAME void block_on(Exchange& exchange, Arrival& arrival, const CallSite& site) {
  arrival.is_blocked = true;
  arrival.rank->run().block(*arrival.rank, {.operation = name_of(arrival.call->op),
                                            .waits_for = &exchange,
                                            .sequence = exchange.sequence(),
                                            .site = site});
}

// Returns true if the collective has completed by the deadline; without one it has.
bool block_by(std::optional<double> deadline_seconds, WorkState& state, Rank& rank,
              const CallSite& site) {
  Exchange& exchange = state.group.group().exchange_of(state.arrival.sequence);
  state.arrival.rank = &rank;  // a thread may wait for what another one started
  try {
    if (deadline_seconds) return block_on_until(exchange, state, site, *deadline_seconds);
    block_on(exchange, state.arrival, site);
  } catch (...) {
    state.arrival.is_blocked = false;  // the thread ends, and the run may go on
    throw;
  }
  return true;
}

template <class Take>
SIMMESH_CALLERS_FRAME typename Take::Results join_and_wait(const Take& take,
                                                           const ProcessGroup& group,
                                                           const CollectiveCall& call) {
  Rank& rank = group.owner();
  Arrival arrival;
  arrival.call = &call;
  arrival.rank = &rank;
  arrival.contents = CallContents::current();
  Exchange& exchange = group.group().join(group.member(), arrival);
  if (!arrival.is_complete) block_on(exchange, arrival, call.site);
  group.group().follow(rank, arrival.sequence);
  typename Take::Results results = take.take(rank, arrival);
  if (Clock* clock = rank.clock()) [[unlikely]]
    run_on_device(group, arrival, take.tensors(results), *clock);
  if (Watch::is_on()) [[unlikely]]
    tell_completed(group, arrival, take.tensors(results));
  return results;
}

template <class Take>
SIMMESH_OWN_FRAME typename Take::Results join_with_fault(const Take& take,
                                                         const ProcessGroup& group,
                                                         const CollectiveCall& asked,
                                                         const Fault& fault) {
  FaultyCall faulty(asked, fault, group);
  return join_and_wait(take, group, faulty.call());
}

template <class Take>
SIMMESH_CALLERS_FRAME typename Take::Results run(const Take& take, const ProcessGroup& group,
                                                 const CollectiveCall& asked) {
  Rank& rank = group.owner();
  const Fault* fault = rank.run().begin_operation(rank, name_of(asked.op), asked.site);
  Caller caller = caller_of(group);
  check_call(asked, caller);
  take.check_target(asked, caller);
  if (fault) [[unlikely]]
    return join_with_fault(take, group, asked, *fault);
  return join_and_wait(take, group, asked);
}

}  // namespace

std::vector<Tensor> run_collective(const ProcessGroup& group, const CollectiveCall& asked) {
  return run(All(), group, asked);
}

Tensor run_collective_for_one(const ProcessGroup& group, const CollectiveCall& asked) {
  return run(Only(), group, asked);
}

void run_collective_for_none(const ProcessGroup& group, const CollectiveCall& asked) {
  run(None(), group, asked);
}

void run_collective_into(Tensor& target, const ProcessGroup& group, const CollectiveCall& asked) {
  run(Into{target, group}, group, asked);
}

Work start_collective(const ProcessGroup& group, const CollectiveCall& asked,
                      StartOptions options) {
  Rank& rank = group.owner();
  const Fault* fault = rank.run().begin_operation(rank, name_of(asked.op), asked.site);
  Caller caller = caller_of(group);
  check_call(asked, caller);
  if (options.into.is_defined()) check_output(options.into, asked, caller);
  if (options.host) check_outputs(*options.host, asked, caller);
  std::optional<FaultyCall> faulty;
  if (fault) faulty.emplace(asked, *fault, group);
  auto state = std::make_shared<WorkState>(group);
  state->call = faulty ? faulty->call() : asked;
  {
    // Sharing the operands as they are now is no copy of the device, which reads the caller's
    // memory.
    Ledger::Uncharged scope;
    Clock::Quiet no_copy;
    for (const Tensor& input : state->call.inputs)
      state->inputs.push_back(options.host ? input : input.clone());
  }
  state->call.inputs = state->inputs;
  state->input_splits.assign(asked.input_splits.begin(), asked.input_splits.end());
  state->output_splits.assign(asked.output_splits.begin(), asked.output_splits.end());
  state->call.input_splits = state->input_splits;
  state->call.output_splits = state->output_splits;
  state->contents = CallContents::current();
  state->arrival.call = &state->call;
  state->arrival.contents = state->contents;
  state->arrival.rank = &rank;
  if (options.host) {
    state->host = std::move(options.host);
    state->arrival.host = state->host.get();
    state->arrival.loaded = state->inputs;
  }
  group.group().join_and_keep(group.member(), {state, &state->arrival});
  state->object = group.group().exchange_object(state->arrival.sequence);
  state->into = std::move(options.into);
  if (Clock* clock = rank.clock()) [[unlikely]]
    state->ended = start_on_device({.group = group,
                                    .arrival = state->arrival,
                                    .call = asked,
                                    .into = state->into,
                                    .on_current_stream = options.on_current_stream},
                                   *clock);
  if (Watch::is_on()) [[unlikely]]
    tell_started(*state, faulty ? faulty->call().inputs : asked.inputs);
  return Work(state);
}

bool Work::is_completed(CallSite site) const {
  if (!state_ || state_->is_taken) return true;
  Rank& rank = state_->group.owner();
  Access access{state_->object, Access::Kind::ask};
  rank.run().touch(rank, {&access, 1}, site);
  rank.run().touches().mark_all_sensitive();
  return has_completed();
}

bool Work::has_completed() const {
  if (!state_ || state_->is_taken) return true;
  if (state_->receive) return state_->receive->message.has_value();
  if (state_->message) return state_->group.group().mailbox().was_received(state_->message);
  return state_->arrival.is_complete;
}

// Returns true if the operation has completed; without a deadline it has.
bool Work::complete_by(std::optional<double> deadline_seconds, const CallSite& site) {
  WorkState& state = *state_;
  Rank& rank = state.group.owner();
  const Fault* fault = rank.run().begin_operation(rank, "wait", site);
  if (fault && fault->kind == Fault::Kind::abandon) throw RankEnded();
  Group& group = state.group.group();
  if (group.is_aborted(state.group.member()) && !is_completed(site))
    raise(ErrorKind::runtime_error, "collectives/work",
          "wait at {}: expected an operation of a group that rank {} didn't abort, got one of {} "
          "that isn't complete",
          to_string(site), rank.id(), group.membership().describe());
  if (state.receive) return group.mailbox().wait_message(*state.receive, rank, deadline_seconds);
  if (state.message)
    return group.mailbox().wait_received(state.message, rank, site, deadline_seconds);
  bool has_ended = state.arrival.is_complete || block_by(deadline_seconds, state, rank, site);
  if (has_ended) group.follow(rank, state.arrival.sequence);
  return has_ended;
}

// Takes the results of an operation that has completed.
void Work::take() {
  WorkState& state = *state_;
  Rank& rank = state.group.owner();
  if (state.receive) {
    state.times = state.receive->message->times;
    state.arrival.results.push_back(state.receive->message->payload);
  }
  Stream::current().wait(state.ended);
  if (state.times) rank.clock()->wait(*state.times);
  if (state.host) {
    for (const ResultPart& part : state.arrival.parts()) rank.run().record_result(rank, part.hash);
    state.arrival.drop_parts();
  } else if (state.into.is_defined()) {
    take_into(state.into, state.group, state.arrival);
    state.results.push_back(state.into);
  } else {
    take_results(rank, state.arrival, state.results);
  }
  state.is_taken = true;
  if (Watch::is_on()) [[unlikely]]
    tell({.kind = CommEvent::Kind::wait,
          .group = state.group,
          .peer = state.receive ? std::int64_t(state.receive->message->from) : -1,
          .work = &state,
          .results = state.results});
}

const std::vector<Tensor>& Work::wait_all(CallSite site) {
  if (!state_)
    raise(ErrorKind::runtime_error, "collectives/work", "expected a Work that was started");
  if (!state_->is_taken) {
    complete_by({}, site);
    take();
  }
  return state_->results;
}

bool Work::wait_until(double deadline_seconds, CallSite site) {
  if (!state_ || state_->is_taken) return true;
  if (!complete_by(deadline_seconds, site)) return false;
  take();
  return true;
}

std::optional<std::int64_t> Work::source() const {
  if (!state_ || !state_->receive || !state_->is_taken) return {};
  return std::int64_t(state_->receive->message->from);
}

Tensor Work::wait(CallSite site) {
  const std::vector<Tensor>& results = wait_all(site);
  return results.empty() ? Tensor() : results.front();
}

}  // namespace simmesh
