#include "pipeline/analysis/single_run.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;
using Messages = std::vector<Action>;

// StageRun is the events of one stage. Batches without messages are neither posted nor waited for.
class StageRun {
 public:
  StageRun(const SingleRun& run, std::int64_t stage) : run_(run), stage_(stage) {}

  std::vector<RunEvent> take() { return std::move(events_); }
  std::int64_t microbatches() const { return run_.microbatches; }

  // Messages of a micro-batch; none at the ends of the pipeline, and no gradients without a loss.
  Messages forward_recv(std::int64_t i) const { return message(recv_f, i, stage_ > 0); }
  Messages forward_send(std::int64_t i) const { return message(send_f, i, !is_last_stage()); }
  Messages backward_recv(std::int64_t i) const {
    return message(recv_b, i, run_.has_loss && !is_last_stage());
  }
  Messages backward_send(std::int64_t i) const {
    return message(send_b, i, run_.has_loss && stage_ > 0);
  }

  void post(const Messages& batch) { add_batch(RunEvent::Kind::post, batch); }
  void wait(const Messages& batch) { add_batch(RunEvent::Kind::wait, batch); }
  void exchange(const Messages& batch) {
    post(batch);
    wait(batch);
  }
  void compute_forward(std::int64_t i) {
    events_.push_back({RunEvent::Kind::compute, {{stage_, forward, i}}});
  }
  void compute_loss() {
    if (run_.has_loss && is_last_stage()) events_.push_back({RunEvent::Kind::loss});
  }
  void compute_backward(std::int64_t i) {
    if (!run_.has_loss) return;
    bool is_last = i == run_.microbatches - 1;
    events_.push_back({RunEvent::Kind::compute, {{stage_, full_backward, i}}, 0, is_last});
  }
  // The output of a micro-batch is dropped, if it was sent.
  void release(std::int64_t i) {
    if (!is_last_stage()) events_.push_back({RunEvent::Kind::release, {}, i});
  }
  void divide() {
    events_.push_back({RunEvent::Kind::divide, {}, run_.scale_grads ? run_.microbatches : 1});
  }

  // Forwards of all micro-batches whose sends are waited for at the end.
  void run_forwards() {
    for (std::int64_t i = 0; i < microbatches(); ++i) {
      exchange(forward_recv(i));
      compute_forward(i);
      post(forward_send(i));
      compute_loss();
    }
    for (std::int64_t i = 0; i < microbatches(); ++i) {
      wait(forward_send(i));
      release(i);
    }
  }

 private:
  bool is_last_stage() const { return stage_ == run_.stages - 1; }
  Messages message(ActionKind kind, std::int64_t i, bool exists) const {
    return exists ? Messages{{stage_, kind, i}} : Messages{};
  }
  void add_batch(RunEvent::Kind kind, const Messages& batch) {
    if (!batch.empty()) events_.push_back({kind, batch});
  }

  SingleRun run_;
  std::int64_t stage_;
  std::vector<RunEvent> events_;
};

Messages joined(Messages first, const Messages& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void run_gpipe(StageRun& stage) {
  stage.run_forwards();
  for (std::int64_t i = 0; i < stage.microbatches(); ++i) {
    stage.exchange(stage.backward_recv(i));
    stage.compute_backward(i);
    stage.post(stage.backward_send(i));
  }
  for (std::int64_t i = 0; i < stage.microbatches(); ++i) stage.wait(stage.backward_send(i));
  stage.divide();
}

// Forwards until the last stage has one. The last send is left to the first backward's batch.
void warm_up_1f1b(StageRun& stage, std::int64_t forwards) {
  for (std::int64_t i = 0; i < forwards; ++i) {
    stage.exchange(stage.forward_recv(i));
    stage.compute_forward(i);
    if (i > 0) {
      stage.wait(stage.forward_send(i - 1));
      stage.release(i - 1);
    }
    if (i + 1 < forwards) stage.post(stage.forward_send(i));
    stage.compute_loss();
  }
}

void cool_down_1f1b(StageRun& stage, std::int64_t done) {
  stage.post(stage.backward_send(done - 1));
  for (std::int64_t i = done; i < stage.microbatches(); ++i) {
    stage.exchange(stage.backward_recv(i));
    stage.compute_backward(i);
    stage.wait(stage.backward_send(i - 1));
    stage.post(stage.backward_send(i));
  }
  stage.wait(stage.backward_send(stage.microbatches() - 1));
}

void run_1f1b(StageRun& stage, std::int64_t warm_up) {
  warm_up_1f1b(stage, warm_up);
  std::int64_t backwards = 0;
  for (std::int64_t forwards = warm_up;; ++forwards) {
    stage.exchange(joined(stage.forward_send(forwards - 1), stage.backward_recv(backwards)));
    stage.release(forwards - 1);
    stage.compute_backward(backwards);
    ++backwards;
    if (forwards == stage.microbatches()) break;
    stage.exchange(joined(stage.backward_send(backwards - 1), stage.forward_recv(forwards)));
    stage.compute_forward(forwards);
    stage.compute_loss();
  }
  cool_down_1f1b(stage, backwards);
  stage.divide();
}

}  // namespace

std::string to_string(const RunEvent& event) {
  std::vector<std::string> actions;
  for (const Action& action : event.actions) actions.push_back(to_string(action));
  std::string joined = join_text(actions, "+");
  switch (event.kind) {
    case RunEvent::Kind::compute: return joined + (event.is_last ? " last" : "");
    case RunEvent::Kind::loss: return "loss";
    case RunEvent::Kind::post: return "post " + joined;
    case RunEvent::Kind::wait: return "wait " + joined;
    case RunEvent::Kind::release: return fmt::format("release {}", event.number);
    case RunEvent::Kind::divide: return fmt::format("divide {}", event.number);
  }
  return {};
}

std::vector<RunEvent> run_single_stage(const SingleRun& run, std::int64_t stage) {
  validate_shape(run.schedule, {.ranks = run.stages, .microbatches = run.microbatches});
  StageRun events(run, stage);
  switch (run.schedule) {
    case ScheduleClass::gpipe: run_gpipe(events); break;
    case ScheduleClass::one_f_one_b:
      run_1f1b(events, std::min(run.microbatches, run.stages - stage));
      break;
    case ScheduleClass::forward_only:
      if (run.has_loss)
        raise(ErrorKind::runtime_error, "pipeline/single_run",
              "Forward-only schedule does not support loss computation");
      events.run_forwards();
      break;
    default:
      raise(ErrorKind::value_error, "pipeline/single_run",
            "expected a schedule with one stage a rank, got {}", to_string(run.schedule));
  }
  return events.take();
}

}  // namespace simmesh::pipeline
