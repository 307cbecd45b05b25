#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/schedule/stage_map.h"

namespace simmesh::pipeline {

// ScheduleClass is a class of schedules of torch.distributed.pipelining.
enum class ScheduleClass : std::uint8_t {
  gpipe,
  one_f_one_b,
  forward_only,
  looped_bfs,
  interleaved_1f1b,
  interleaved_zero_bubble,
  zbv_zero_bubble,
  dual_pipe_v,
};

// to_string returns the name: "GPipe", "1F1B", "ForwardOnly", "LoopedBFS", "Interleaved1F1B",
// "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV".
std::string_view to_string(ScheduleClass schedule);
// schedule_class_from_string reads such a name in any case. Raises a ValueError that lists them.
ScheduleClass schedule_class_from_string(std::string_view name);
// schedule_classes returns all classes, in the order above.
std::vector<ScheduleClass> schedule_classes();

// is_single_stage is true for the schedules that have one stage a rank: GPipe, 1F1B, ForwardOnly.
// Their step function posts its messages by itself, and no pass lowers them.
bool is_single_stage(ScheduleClass schedule);

// has_split_backward is true for the schedules that compute gradients of inputs and of weights
// apart.
bool has_split_backward(ScheduleClass schedule);

// ScheduleShape is the size of a pipeline.
struct ScheduleShape {
  std::int64_t ranks;
  std::int64_t stages_per_rank = 1;
  std::int64_t microbatches;

  std::int64_t stages() const { return ranks * stages_per_rank; }
};

// validate_shape raises a ValueError for sizes below 1, and where a schedule doesn't take the
// shape: 1F1B and DualPipeV need at least as many micro-batches as stages; the two V schedules two
// stages a rank; the interleaved ones a multiple of max(1, micro-batches / ranks) micro-batches.
void validate_shape(ScheduleClass schedule, const ScheduleShape& shape);

// stage_map_of returns the ranks of the stages: a V for the V schedules, else a loop.
StageMap stage_map_of(ScheduleClass schedule, const ScheduleShape& shape);

}  // namespace simmesh::pipeline
