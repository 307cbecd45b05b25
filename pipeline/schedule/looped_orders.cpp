#include <algorithm>
#include <set>

#include "pipeline/schedule/rank_orders.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

void wait(Row& row, std::int64_t slots) {
  if (slots > 0) row.resize(row.size() + std::size_t(slots));
}

// The row of one rank of an interleaved schedule, while it is made. Work is handed out in rounds: a
// stage gets one round's micro-batches, then the rank's next stage does.
class InterleavedRow {
 public:
  InterleavedRow(const ScheduleShape& shape, std::int64_t rank)
      : shape_(shape),
        rank_(rank),
        per_round_(shape.microbatches /
                   std::max<std::int64_t>(1, shape.microbatches / shape.ranks)) {
    wait(row_, rank);
  }

  std::int64_t per_round() const { return per_round_; }
  void add_idle(std::int64_t slots) { wait(row_, slots); }
  // The i-th forward of the rank, and its i-th backward of the kind.
  void add_forward(std::int64_t i) { add(local_stage(i), forward, i); }
  void add_backward(ActionKind kind, std::int64_t i) {
    add(shape_.stages_per_rank - 1 - local_stage(i), kind, i);
  }
  Row take() { return std::move(row_); }

 private:
  std::int64_t local_stage(std::int64_t i) const { return i / per_round_ % shape_.stages_per_rank; }
  void add(std::int64_t local, ActionKind kind, std::int64_t i) {
    std::int64_t round = i / per_round_ / shape_.stages_per_rank;
    row_.push_back({local * shape_.ranks + rank_, kind, round * per_round_ + i % per_round_});
  }

  ScheduleShape shape_;
  std::int64_t rank_;
  std::int64_t per_round_;
  Row row_;
};

bool must_wait(const Action& action, const std::set<ActionKey>& done) {
  return action.kind == forward && action.stage != 0 &&
         done.count({action.stage - 1, forward, action.microbatch}) == 0;
}

}  // namespace

Row looped_bfs_row(const ScheduleShape& shape, std::int64_t rank) {
  Row row;
  wait(row, rank);
  for (std::int64_t stage = rank; stage < shape.stages(); stage += shape.ranks)
    for (std::int64_t i = 0; i < shape.microbatches; ++i) row.push_back({stage, forward, i});
  wait(row, 2 * (shape.ranks - 1 - rank));
  for (std::int64_t stage = shape.stages() - shape.ranks + rank; stage >= 0; stage -= shape.ranks)
    for (std::int64_t i = shape.microbatches - 1; i >= 0; --i)
      row.push_back({stage, full_backward, i});
  return row;
}

Row interleaved_row(const ScheduleShape& shape, std::int64_t rank, bool splits_backward) {
  InterleavedRow row(shape, rank);
  std::int64_t hops = shape.ranks - 1 - rank;
  std::int64_t total = shape.microbatches * shape.stages_per_rank;
  std::int64_t warm_up = std::min(
      (shape.stages_per_rank - 1) * row.per_round() + (splits_backward ? 1 : 2) * hops, total);
  for (std::int64_t i = 0; i < warm_up; ++i) row.add_forward(i);
  if (splits_backward)
    row.add_idle(warm_up > 0 ? hops : 0);
  else if (warm_up > 0)
    row.add_idle(shape.stages() + 2 * hops - warm_up - rank);
  std::int64_t weights = 0;
  for (std::int64_t i = 0; i < total; ++i) {
    if (warm_up + i < total)
      row.add_forward(warm_up + i);
    else if (!splits_backward)
      row.add_idle(1);
    row.add_backward(splits_backward ? backward_input : full_backward, i);
    if (splits_backward && i >= rank) row.add_backward(backward_weight, weights++);
  }
  while (splits_backward && weights < total) row.add_backward(backward_weight, weights++);
  return row.take();
}

Rows delay_forwards(const Rows& rows) {
  Rows delayed(rows.size());
  std::vector<std::size_t> next(rows.size(), 0);
  std::set<ActionKey> done;
  for (bool is_over = false; !is_over;) {
    is_over = true;
    std::vector<ActionKey> done_now;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      if (next[rank] == rows[rank].size()) continue;
      is_over = false;
      const Action& action = rows[rank][next[rank]];
      bool waits = must_wait(action, done);
      delayed[rank].push_back(waits ? Action() : action);
      if (waits) continue;
      done_now.push_back(action.key());
      ++next[rank];
    }
    done.insert(done_now.begin(), done_now.end());
  }
  return delayed;
}

}  // namespace simmesh::pipeline
