#include "pipeline/schedule/schedule_class.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::pipeline {

namespace {

using enum ScheduleClass;

constexpr const char* where = "pipeline/schedule";

constexpr std::array<std::pair<ScheduleClass, std::string_view>, 8> class_names = {{
    {gpipe, "GPipe"},
    {one_f_one_b, "1F1B"},
    {forward_only, "ForwardOnly"},
    {looped_bfs, "LoopedBFS"},
    {interleaved_1f1b, "Interleaved1F1B"},
    {interleaved_zero_bubble, "InterleavedZeroBubble"},
    {zbv_zero_bubble, "ZBVZeroBubble"},
    {dual_pipe_v, "DualPipeV"},
}};

bool is_equal_in_any_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

bool is_v(ScheduleClass schedule) { return schedule == zbv_zero_bubble || schedule == dual_pipe_v; }

void require_rounds(ScheduleClass schedule, const ScheduleShape& shape) {
  std::int64_t rounds = std::max<std::int64_t>(1, shape.microbatches / shape.ranks);
  if (shape.microbatches % rounds != 0)
    raise(ErrorKind::value_error, where,
          "{} requires the number of microbatches to be a multiple of the number of rounds ({}), "
          "but got {}",
          to_string(schedule), rounds, shape.microbatches);
}

}  // namespace

std::string_view to_string(ScheduleClass schedule) {
  for (auto [known, name] : class_names)
    if (known == schedule) return name;
  return {};
}

ScheduleClass schedule_class_from_string(std::string_view name) {
  std::vector<std::string_view> names;
  for (auto [schedule, known] : class_names) {
    if (is_equal_in_any_case(known, name)) return schedule;
    names.push_back(known);
  }
  raise(ErrorKind::value_error, where, "Unknown schedule name '{}'. The valid options are {}", name,
        join_text(names, ", "));
}

std::vector<ScheduleClass> schedule_classes() {
  std::vector<ScheduleClass> schedules;
  for (auto [schedule, name] : class_names) schedules.push_back(schedule);
  return schedules;
}

bool is_single_stage(ScheduleClass schedule) {
  return schedule == gpipe || schedule == one_f_one_b || schedule == forward_only;
}

bool has_split_backward(ScheduleClass schedule) {
  return schedule == interleaved_zero_bubble || is_v(schedule);
}

void validate_shape(ScheduleClass schedule, const ScheduleShape& shape) {
  if (shape.ranks < 1 || shape.stages_per_rank < 1 || shape.microbatches < 1)
    raise(ErrorKind::value_error, where,
          "expected at least one rank, stage and micro-batch, got {} ranks, {} stages a rank and "
          "{} micro-batches",
          shape.ranks, shape.stages_per_rank, shape.microbatches);
  if (schedule == one_f_one_b && shape.microbatches < shape.stages())
    raise(ErrorKind::value_error, where,
          "Number of microbatches ({}) must be greater than or equal to the number of stages ({})",
          shape.microbatches, shape.stages());
  if (is_v(schedule) && shape.stages_per_rank != 2)
    raise(ErrorKind::value_error, where, "{} requires exactly 2 stages per rank, but got {}",
          to_string(schedule), shape.stages_per_rank);
  if (schedule == dual_pipe_v && shape.microbatches < shape.stages())
    raise(ErrorKind::value_error, where,
          "{} requires at least as many microbatches as stages, but got {} microbatches and {} "
          "stages",
          to_string(schedule), shape.microbatches, shape.stages());
  if (schedule == interleaved_1f1b || schedule == interleaved_zero_bubble)
    require_rounds(schedule, shape);
}

StageMap stage_map_of(ScheduleClass schedule, const ScheduleShape& shape) {
  return StageMap::of_style(is_v(schedule) ? StageStyle::v : StageStyle::loop,
                            {.ranks = shape.ranks, .stages = shape.stages()});
}

}  // namespace simmesh::pipeline
