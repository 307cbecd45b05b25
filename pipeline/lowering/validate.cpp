#include "pipeline/lowering/validate.h"

#include <fmt/format.h>
#include <set>

#include "core/check/error.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;
using Microbatches = std::set<std::optional<std::int64_t>>;

constexpr const char* validate_where = "pipeline/validate";

// The micro-batches for which a stage did each kind of work.
struct StageWork {
  Microbatches forwards, backwards, inputs, weights;
};

// RowsCheck goes over the rows, and then over the stages.
class RowsCheck {
 public:
  explicit RowsCheck(const ScheduleSize& size) : size_(size), work_(std::size_t(size.stages)) {}

  void add(const Action& action, std::size_t rank, std::size_t step) {
    rank_ = rank;
    step_ = step;
    switch (action.kind) {
      case forward: work_of(action).forwards.insert(action.microbatch); break;
      case full_backward: add_after(action, &StageWork::forwards, &StageWork::backwards); break;
      case backward_input: add_after(action, &StageWork::forwards, &StageWork::inputs); break;
      case backward_weight: add_after(action, &StageWork::inputs, &StageWork::weights); break;
      default: break;
    }
    std::int64_t known = map_.put(action.stage, std::int64_t(rank));
    if (known != std::int64_t(rank))
      fail(fmt::format("Stage {} is assigned to both rank {} and rank {}", action.stage, rank,
                       known));
  }

  void require_all() const {
    for (std::size_t stage = 0; stage < work_.size(); ++stage) require_all_of(stage);
  }

  StageMap take() { return std::move(map_); }

 private:
  StageWork& work_of(const Action& action) {
    if (action.stage < 0 || action.stage >= size_.stages)
      raise(ErrorKind::key_error, validate_where, "expected a stage below {}, got {}", size_.stages,
            action.stage);
    return work_[std::size_t(action.stage)];
  }

  void add_after(const Action& action, Microbatches StageWork::*needed,
                 Microbatches StageWork::*done) {
    StageWork& work = work_of(action);
    if ((work.*needed).count(action.microbatch) == 0)
      fail(fmt::format("Running {} for stage {}, microbatch {} without first running {}",
                       to_string(action.kind), action.stage,
                       action.microbatch ? std::to_string(*action.microbatch) : "None",
                       action.kind == backward_weight ? "Backward Input" : "Forward"));
    (work.*done).insert(action.microbatch);
  }

  void require_all_of(std::size_t stage) const {
    std::int64_t expected = size_.microbatches;
    auto count = [](const Microbatches& microbatches) { return std::int64_t(microbatches.size()); };
    std::int64_t f = count(work_[stage].forwards), b = count(work_[stage].backwards);
    std::int64_t i = count(work_[stage].inputs), w = count(work_[stage].weights);
    if (f != expected)
      raise(ErrorKind::assertion_error, validate_where,
            "Got {} forward microbatches for stage {}, expected {}", f, stage, expected);
    if (i != w)
      raise(ErrorKind::assertion_error, validate_where,
            "Invalid backward microbatches for stage {}: I and W must have equal counts, but got "
            "I={}, W={}",
            stage, i, w);
    if (b + i != expected)
      raise(ErrorKind::assertion_error, validate_where,
            "Invalid backward microbatches for stage {}: expected {} total backwards, but got "
            "B={}, I={}, W={}",
            stage, expected, b, i, w);
  }

  [[noreturn]] void fail(const std::string& text) const {
    raise(ErrorKind::assertion_error, validate_where, "Rank {}, step {}: {}", rank_, step_, text);
  }

  ScheduleSize size_;
  std::vector<StageWork> work_;
  StageMap map_;
  std::size_t rank_ = 0, step_ = 0;  // of the action that is looked at
};

}  // namespace

StageMap validate_rows(const Rows& rows, const ScheduleSize& size) {
  if (std::int64_t(rows.size()) != size.ranks)
    raise(ErrorKind::assertion_error, validate_where,
          "Schedule has incorrect number of ranks - expected {}, actual {}", size.ranks,
          rows.size());
  RowsCheck check(size);
  for (std::size_t rank = 0; rank < rows.size(); ++rank)
    for (std::size_t step = 0; step < rows[rank].size(); ++step)
      if (const Action& action = rows[rank][step]; !action.is_idle())
        for (const Action& leaf : action.leaves()) check.add(leaf, rank, step);
  check.require_all();
  return check.take();
}

}  // namespace simmesh::pipeline
