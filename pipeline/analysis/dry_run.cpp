#include "pipeline/analysis/dry_run.h"

#include <algorithm>
#include <set>

#include "core/check/error.h"
#include "pipeline/lowering/messages.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

constexpr const char* dry_run_where = "pipeline/dry_run";

// DryRun is what each rank did so far, and where it stands in its row.
class DryRun {
 public:
  DryRun(const Rows& rows, const StageMap& map, std::int64_t stages)
      : todo_(without_idle(rows)),
        map_(map),
        stages_(stages),
        done_(rows.size()),
        next_(rows.size(), 0),
        steps_(rows.size()) {}

  bool is_over(std::size_t rank) const { return next_[rank] == todo_[rank].size(); }
  bool is_over() const {
    for (std::size_t rank = 0; rank < todo_.size(); ++rank)
      if (!is_over(rank)) return false;
    return true;
  }

  // Takes a step of all ranks. Returns false if none could act at its first look.
  bool step() {
    std::vector<std::size_t> waiting;
    bool has_progress = false;
    for (std::size_t rank = 0; rank < todo_.size(); ++rank) {
      if (is_over(rank)) continue;
      steps_[rank].emplace_back();
      if (act(rank))
        has_progress = true;
      else
        waiting.push_back(rank);
    }
    for (std::size_t rank : waiting) act(rank);
    return has_progress;
  }

  Rows take() { return std::move(steps_); }

 private:
  // Does the next action of a rank in its current step, if its inputs are there.
  bool act(std::size_t rank) {
    const Action& action = todo_[rank][next_[rank]];
    if (!is_ready(action)) return false;
    steps_[rank].back() = action;
    done_[rank].insert(action.key());
    ++next_[rank];
    return true;
  }

  // True if the rank of the stage has done the action of this micro-batch.
  bool has(std::int64_t stage, ActionKind kind, const Action& of) const {
    return has_done(map_.rank_of(of.stage), {stage, kind, of.microbatch});
  }
  bool has_done(std::int64_t rank, const ActionKey& key) const {
    return rank >= 0 && rank < std::int64_t(done_.size()) &&
           done_[std::size_t(rank)].count(key) > 0;
  }

  bool is_ready(const Action& action) const {
    std::int64_t stage = action.stage;
    switch (action.kind) {
      case forward:
        return stage == 0 || has(stage, recv_f, action) || has(stage - 1, forward, action);
      case full_backward:
      case backward_input:
        return stage == stages_ - 1 || has(stage, recv_b, action) ||
               has(stage + 1, backward_input, action) || has(stage + 1, full_backward, action);
      case backward_weight: return true;
      case send_f: return has(stage, forward, action);
      case send_b: return has(stage, backward_input, action) || has(stage, full_backward, action);
      case recv_f:
      case recv_b: {
        ActionKey send{action.kind == recv_f ? stage - 1 : stage + 1,
                       action.kind == recv_f ? send_f : send_b, action.microbatch};
        return has_done(message_peer(action.key(), map_), send);
      }
      case wait_send_f:
      case wait_send_b: {
        ActionKey send{stage, send_of(action.kind), action.microbatch};
        return has_done(map_.rank_of(stage), send) &&
               has_done(message_peer(send, map_), receive_of(send));
      }
      default:
        raise(ErrorKind::value_error, dry_run_where, "Unsupported action type {}",
              to_string(action));
    }
  }

  Rows todo_;
  const StageMap& map_;
  std::int64_t stages_;
  std::vector<std::set<ActionKey>> done_;
  std::vector<std::size_t> next_;
  Rows steps_;
};

}  // namespace

Rows dry_run(const Rows& rows, const StageMap& map, std::int64_t stages) {
  DryRun run(rows, map, stages);
  while (!run.is_over())
    if (!run.step()) raise(ErrorKind::value_error, dry_run_where, "Schedule is not progressing");
  return run.take();
}

std::int64_t step_count(const Rows& rows) {
  std::size_t steps = 0;
  for (const Row& row : rows) steps = std::max(steps, row.size());
  return std::int64_t(steps);
}

}  // namespace simmesh::pipeline
