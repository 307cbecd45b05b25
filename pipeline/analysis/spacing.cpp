#include "pipeline/analysis/spacing.h"

#include <algorithm>
#include <map>

#include "core/check/error.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

constexpr const char* spacing_where = "pipeline/spacing";
constexpr std::int64_t longest_duration = 3;

// Spacing is a run in time units.
class Spacing {
 public:
  explicit Spacing(const Rows& rows)
      : todo_(without_idle(rows)),
        stages_(stage_count(rows)),
        next_(rows.size(), 0),
        free_at_(rows.size(), 0) {
    spaced_.rows.resize(rows.size());
    spaced_.placed.resize(rows.size());
  }

  bool is_over() const {
    for (std::size_t rank = 0; rank < todo_.size(); ++rank)
      if (!is_over(rank)) return false;
    return true;
  }

  // Takes a time unit. Raises if no action began for longer than any action takes.
  void step() {
    for (std::size_t rank = 0; rank < todo_.size(); ++rank) {
      if (is_over(rank) || now_ < free_at_[rank]) continue;
      const Action& action = todo_[rank][next_[rank]];
      if (is_ready(action)) start(action, rank);
    }
    for (std::size_t rank = 0; rank < todo_.size(); ++rank)
      if (now_ >= free_at_[rank]) spaced_.rows[rank].emplace_back();
    ++now_;
    if (++waited_ > longest_duration && !is_over())
      raise(ErrorKind::runtime_error, spacing_where,
            "No progress made in scheduling - possible deadlock");
  }

  SpacedSchedule take() { return std::move(spaced_); }

 private:
  bool is_over(std::size_t rank) const { return next_[rank] == todo_[rank].size(); }

  bool is_complete(std::int64_t stage, ActionKind kind, const Action& of) const {
    auto found = ends_.find({stage, kind, of.microbatch});
    return found != ends_.end() && found->second <= now_;
  }

  bool is_ready(const Action& action) const {
    auto leaves = action.leaves();
    return std::all_of(leaves.begin(), leaves.end(),
                       [&](const Action& leaf) { return has_input(leaf); });
  }

  bool has_input(const Action& action) const {
    std::int64_t stage = action.stage;
    if (action.kind == forward) return stage == 0 || is_complete(stage - 1, forward, action);
    if (action.kind == backward_weight) return is_complete(stage, backward_input, action);
    if (!is_backward(action.kind))
      raise(ErrorKind::runtime_error, spacing_where, "Unknown computation type: {}",
            to_string(action));
    if (stages_ == 1) return is_complete(0, forward, action);
    if (stage == stages_ - 1) return is_complete(stage - 1, forward, action);
    return is_complete(stage + 1, full_backward, action) ||
           is_complete(stage + 1, backward_input, action);
  }

  void start(const Action& action, std::size_t rank) {
    spaced_.rows[rank].push_back(action);
    std::int64_t end = now_;
    for (const Action& leaf : action.leaves()) {
      end += duration_of(leaf);
      ends_[leaf.key()] = end;
    }
    free_at_[rank] = now_ + duration_of(action);
    spaced_.placed[rank].push_back({action, now_, free_at_[rank]});
    spaced_.end = std::max(spaced_.end, free_at_[rank]);
    ++next_[rank];
    waited_ = 0;
  }

  Rows todo_;
  std::int64_t stages_;
  std::vector<std::size_t> next_;
  std::vector<std::int64_t> free_at_;
  std::map<ActionKey, std::int64_t> ends_;
  std::int64_t now_ = 0;
  std::int64_t waited_ = 0;  // since an action began
  SpacedSchedule spaced_;
};

}  // namespace

std::int64_t duration_of(const Action& action) {
  if (action.kind == overlap_f_b) return longest_duration;
  return action.kind == full_backward ? 2 : 1;
}

std::int64_t SpacedSchedule::idle_of(std::size_t rank) const {
  std::int64_t busy = 0;
  for (const Placed& placed_action : placed[rank]) busy += placed_action.end - placed_action.begin;
  return end - busy;
}

double SpacedSchedule::bubble() const {
  std::int64_t idle = 0;
  for (std::size_t rank = 0; rank < placed.size(); ++rank) idle += idle_of(rank);
  std::int64_t all = end * std::int64_t(placed.size());
  return all == 0 ? 0.0 : double(idle) / double(all);
}

SpacedSchedule space_out(const Rows& rows) {
  Spacing spacing(rows);
  while (!spacing.is_over()) spacing.step();
  return spacing.take();
}

}  // namespace simmesh::pipeline
