#include <algorithm>
#include <deque>

#include "pipeline/schedule/rank_orders.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

// One of the two stages of a rank in a V, and the next micro-batch of each kind of work.
struct VStage {
  std::int64_t stage;
  std::int64_t forwards = 0;
  std::int64_t inputs = 0;
  std::int64_t weights = 0;
};

// ZbvRow is the row of one rank of the zero-bubble V, while it is made.
struct ZbvRow {
  VStage near, far;  // on the way there and on the way back
  Row row = {};

  void add_forward(VStage& on) { row.push_back({on.stage, forward, on.forwards++}); }
  void add_input(VStage& on) { row.push_back({on.stage, backward_input, on.inputs++}); }
  void add_weight(VStage& on) { row.push_back({on.stage, backward_weight, on.weights++}); }
  void add_backward(VStage& on) {
    add_input(on);
    add_weight(on);
  }

  void warm_up(std::int64_t ranks, std::int64_t rank) {
    for (std::int64_t i = 0; i < 2 * (ranks - rank) - 1; ++i) add_forward(near);
    for (std::int64_t i = 0; i < rank; ++i) {
      add_forward(far);
      add_forward(near);
    }
    for (std::int64_t i = 0; i < ranks - rank; ++i) {
      add_forward(far);
      add_backward(far);
    }
  }

  void run_steadily(std::int64_t microbatches) {
    while (far.forwards < near.forwards || near.forwards < microbatches) {
      if (near.forwards < microbatches) add_forward(near);
      add_backward(near);
      add_forward(far);
      add_backward(far);
    }
  }

  void cool_down(std::int64_t ranks, std::int64_t rank) {
    for (std::int64_t i = 0; i < rank; ++i) {
      add_input(near);
      add_input(far);
    }
    for (std::int64_t i = 0; i < ranks - rank; ++i) add_backward(near);
    while (far.weights < far.inputs) add_weight(far);
    while (near.weights < near.inputs) add_weight(near);
  }
};

// DualRow is the row of one rank of DualPipeV, while it is made. Full backwards and gradients of
// inputs are counted together.
class DualRow {
 public:
  explicit DualRow(VStage near, VStage far) : near_(near), far_(far) {}

  void make(std::int64_t ranks, std::int64_t rank, std::int64_t microbatches) {
    std::int64_t hops = ranks - rank - 1;
    for (std::int64_t i = 0; i < 2 * hops; ++i) add_forward(near_);
    for (std::int64_t i = 0; i <= rank; ++i) {
      add_forward(near_);
      add_forward(far_);
    }
    for (std::int64_t i = 0; i < hops; ++i) {
      add_backward(far_, true);
      add_weight();
      add_forward(far_);
    }
    overlap(microbatches - 2 * ranks + rank + 1, hops == 0);
    for (std::int64_t i = 0; i < hops; ++i) {
      add_backward(far_, false);
      add_overlap(far_, near_);
    }
    drain(rank, hops);
  }

  Row take() { return std::move(row_); }

 private:
  void overlap(std::int64_t steps, bool is_last_rank) {
    for (std::int64_t i = 0; i < steps; ++i) {
      if (i == 0 && is_last_rank) {
        add_forward(near_);
        add_backward(far_, false);
      } else {
        add_overlap(near_, far_);
      }
      add_overlap(far_, near_);
    }
  }

  // The last backwards. From the middle on their weights come later.
  void drain(std::int64_t rank, std::int64_t hops) {
    std::int64_t middle = (rank + 1) / 2;
    for (std::int64_t i = 0; i <= rank; ++i) {
      add_backward(far_, rank % 2 == 1 ? i >= middle : i > middle);
      add_backward(near_, i >= middle);
    }
    for (std::int64_t i = 0; i < hops; ++i) {
      add_weight();
      add_backward(near_, true);
    }
    for (std::int64_t i = 0; i <= rank; ++i) add_weight();
  }

  void add_forward(VStage& on) { row_.push_back({on.stage, forward, on.forwards++}); }
  void add_backward(VStage& on, bool is_split) {
    ActionKind kind = is_split ? backward_input : full_backward;
    if (is_split) weights_.push_back({on.stage, backward_weight, on.inputs});
    row_.push_back({on.stage, kind, on.inputs++});
  }
  void add_weight() {
    if (weights_.empty()) return;
    row_.push_back(weights_.front());
    weights_.pop_front();
  }
  void add_overlap(VStage& forwards, VStage& backwards) {
    Action first{forwards.stage, forward, forwards.forwards++};
    Action second{backwards.stage, full_backward, backwards.inputs++};
    row_.push_back(compound({first, second}));
  }

  VStage near_, far_;
  std::deque<Action> weights_;  // due, oldest first
  Row row_;
};

}  // namespace

Row zbv_row(const ScheduleShape& shape, std::int64_t rank) {
  ZbvRow zbv{.near = {rank}, .far = {shape.stages() - 1 - rank}};
  zbv.row.resize(std::size_t(rank));
  zbv.warm_up(shape.ranks, rank);
  zbv.run_steadily(std::max(2 * shape.ranks - 1, shape.microbatches));
  zbv.cool_down(shape.ranks, rank);
  for (Action& action : zbv.row)
    if (action.microbatch >= shape.microbatches) action = {};
  return zbv.row;
}

Row dual_pipe_v_row(const ScheduleShape& shape, std::int64_t rank) {
  DualRow dual({rank}, {shape.stages() - 1 - rank});
  dual.make(shape.ranks, rank, shape.microbatches);
  return dual.take();
}

}  // namespace simmesh::pipeline
