#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/engine/world.h"
#include "core/ops/shapes/views.h"
#include "pipeline/lowering/lower.h"
#include "pipeline/lowering/messages.h"
#include "pipeline/runtime/schedule.h"
#include "pipeline/schedule/csv.h"
#include "tests/pipeline/small_pipeline.h"

// Faults of real pipelines are put into a small one, each alone. All must show: as a refusal, an
// error, a deadlock, or as gradients that aren't those of one device.
namespace simmesh::pipeline {
namespace {

using simmesh::testing::difference_of;
using simmesh::testing::gradients_of_one_device;
using simmesh::testing::LocalPipeline;
using simmesh::testing::SmallPipeline;

constexpr std::int64_t rank_count = 2;

SmallPipeline four_stages() { return {.stages = 4, .microbatches = 4}; }
LoweredSchedule zero_bubble() {
  return build_schedule(ScheduleClass::interleaved_zero_bubble,
                        {.ranks = rank_count, .stages_per_rank = 2, .microbatches = 4});
}

// Returns what a run shows: its failure, or the gradients that are others than on one device.
std::string shown_by(const SmallPipeline& small,
                     const std::function<simmesh::testing::Gradients(Rank& rank)>& train) {
  auto expected = gradients_of_one_device(small);
  std::vector<std::string> differences(rank_count);
  Outcome outcome = World({.ranks = rank_count}).run([&](Rank& rank) {
    differences[rank.id()] = difference_of(train(rank), expected);
  });
  if (outcome.failure) return outcome.failure->message;
  return differences[0] + differences[1];
}

// RowFault changes the rows of a schedule.
struct RowFault {
  const char* name;
  std::function<void(Rows& rows)> inject;
};

Row::iterator find_action(Row& row, const char* text) {
  Action wanted = Action::parse(text);
  auto found = std::find(row.begin(), row.end(), wanted);
  SIMMESH_CHECK(found != row.end(), "no action {}", text);
  return found;
}

auto leave_out(std::size_t rank, const char* action) {
  return [=](Rows& rows) { rows[rank].erase(find_action(rows[rank], action)); };
}
auto repeat(std::size_t rank, const char* action) {
  return [=](Rows& rows) {
    auto place = find_action(rows[rank], action);
    rows[rank].insert(place, Action(*place));
  };
}
auto replace(std::size_t rank, const char* action, const char* by) {
  return [=](Rows& rows) { *find_action(rows[rank], action) = Action::parse(by); };
}
auto move_before(std::size_t rank, const char* action, const char* place) {
  return [=](Rows& rows) {
    Row& row = rows[rank];
    Action moved = *find_action(row, action);
    row.erase(find_action(row, action));
    row.insert(find_action(row, place), moved);
  };
}

std::vector<RowFault> row_faults() {
  return {{"a missing wait for a send", leave_out(0, "0WAIT_SEND_F0")},
          {"a missing wait for a gradient", leave_out(1, "3WAIT_SEND_B1")},
          {"a wait that comes twice", repeat(0, "0WAIT_SEND_F1")},
          {"a wait before its send", move_before(0, "0WAIT_SEND_F0", "0SEND_F0")},
          {"a missing receive of an activation", leave_out(1, "1RECV_F2")},
          {"a missing receive of a gradient", leave_out(0, "2RECV_B0")},
          {"a receive after its use", move_before(1, "1F1", "1RECV_F1")},
          {"a receive that comes twice", repeat(1, "1RECV_F0")},
          {"a receive of another micro-batch", replace(1, "1RECV_F3", "1RECV_F2")},
          {"a missing send", leave_out(0, "0SEND_F2")},
          {"a send that comes twice", repeat(0, "0SEND_F2")},
          {"a send of another micro-batch", replace(1, "3SEND_B1", "3SEND_B2")},
          {"a send before its computation", move_before(0, "0SEND_F0", "0F0")},
          {"a missing forward", leave_out(0, "0F3")},
          {"a forward of another stage", replace(0, "2F1", "0F1")},
          {"a missing backward of inputs", leave_out(1, "3I2")},
          {"a missing backward of weights", leave_out(0, "0W3")},
          {"a backward of weights that comes twice", repeat(1, "3W1")},
          {"a backward of weights before that of inputs", move_before(1, "3W2", "3I2")},
          {"gradients of a stage that aren't scaled", leave_out(0, "2REDUCE_GRAD")},
          {"gradients of a stage that are scaled too early", move_before(0, "0REDUCE_GRAD", "0W3")},
          {"gradients of a stage that are scaled twice", repeat(0, "0REDUCE_GRAD")},
          {"a reduction without its wait", leave_out(1, "1WAIT_REDUCE_GRAD")},
          {"a stage on another rank", [](Rows& rows) { std::swap(rows[0], rows[1]); }}};
}

// If this fails, a wrong schedule trains a wrong model, and nobody hears of it.
TEST(InjectedFaults, OfSchedulesAreAllFound) {
  SmallPipeline small = four_stages();
  auto run = [&](const Rows& rows) {
    return shown_by(small, [&](Rank& rank) {
      std::string csv = write_csv(rows);
      auto id = std::int64_t(rank.id());
      LocalPipeline local(small, {id, id + 2}, [&](const std::vector<PipelineStage*>& stages) {
        return PipelineSchedule::from_csv(csv, "compute_comms", stages, small.settings());
      });
      local.schedule().step(local.inputs());
      return local.gradients();
    });
  };
  EXPECT_EQ(run(zero_bubble().rows()), "");
  for (const RowFault& fault : row_faults()) {
    Rows rows = zero_bubble().rows();
    fault.inject(rows);
    EXPECT_NE(run(rows), "") << fault.name;
  }
}

// If this fails, receives in another order than the sends pass for the same.
TEST(InjectedFaults, OfTheOrderOfReceivesAreFound) {
  LoweredSchedule schedule = zero_bubble();
  Rows rows = schedule.rows();
  EXPECT_TRUE(keeps_message_order(rows, schedule.map));
  std::iter_swap(find_action(rows[1], "1RECV_F1"), find_action(rows[1], "1RECV_F2"));
  EXPECT_FALSE(keeps_message_order(rows, schedule.map));
}

// ProgramFault is a program that trains a pipeline wrongly.
struct ProgramFault {
  const char* name;
  std::function<void(ScheduleSettings& settings)> settings = [](ScheduleSettings&) {};
  std::function<void(StepInputs& inputs)> inputs = [](StepInputs&) {};
  std::function<void(LocalPipeline& local)> after = [](LocalPipeline&) {};
};

Tensor reversed_rows(const Tensor& x) {
  std::vector<Tensor> rows;
  for (std::int64_t row = x.size(0); row-- > 0;)
    rows.push_back(x.narrow({.dim = 0, .start = row, .length = 1}));
  Tensor result = zeros(x.shape(), x.dtype());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Tensor place = result.narrow({.dim = 0, .start = std::int64_t(i), .length = 1});
    copy_(place, rows[i]);
  }
  return result;
}

// The sum of the gradients of all ranks, of which each may be tied to the same parameter.
void reduce_tied(LocalPipeline& local, int times) {
  auto& stage = *local.stages().front();
  for (Tensor& parameter : stage.module().parameters())
    for (int i = 0; i < times; ++i)
      set_grad(parameter, all_reduce(grad_of(parameter), ReduceOp::sum, ProcessGroup::world()));
}

std::vector<ProgramFault> program_faults() {
  return {
      {"gradients that aren't divided", [](auto& settings) { settings.scale_grads = false; }},
      {"a loss that is divided, too",
       [](auto& settings) {
         settings.loss = [](const nn::Tensors& outputs, const Tensor& target, const Keywords&) {
           return div(sum(mul(outputs[0], target)), 4.0);
         };
       }},
      {"a batch that is cut along another dim",
       [](auto& settings) { settings.chunk_dims.args = std::vector<ChunkDim>{1}; }},
      {"a batch that every micro-batch gets",
       [](auto& settings) { settings.chunk_dims.args = std::vector<ChunkDim>{std::nullopt}; }},
      {"other numbers of micro-batches on the ranks",
       [](auto& settings) {
         if (ProcessGroup::world().rank() == 1) settings.microbatches = 8;
       }},
      {"targets in another order",
       {},
       [](auto& inputs) {
         if (inputs.target) inputs.target = reversed_rows(*inputs.target);
       }},
      {"no targets", {}, [](auto& inputs) { inputs.target.reset(); }},
      {"micro-batches that are too few",
       {},
       [](auto& inputs) {
         if (!inputs.args.empty()) inputs.arg_mbs = {{{inputs.args[0]}}};
         inputs.args.clear();
       }},
      {"gradients of the step before",
       {},
       {},
       [](auto& local) { local.schedule().step(local.inputs(2)); }},
      {"tied weights that are reduced although they aren't tied",
       {},
       {},
       [](auto& local) { reduce_tied(local, 1); }},
      {"tied weights that are reduced twice", {}, {}, [](auto& local) { reduce_tied(local, 2); }}};
}

// If this fails, a program that uses a pipeline wrongly passes for a right one.
TEST(InjectedFaults, OfProgramsAreAllFound) {
  SmallPipeline small = four_stages();
  auto run = [&](const ProgramFault& fault) {
    return shown_by(small, [&](Rank& rank) {
      auto id = std::int64_t(rank.id());
      ScheduleSettings settings = small.settings();
      if (fault.settings) fault.settings(settings);
      LocalPipeline local(small, {id, id + 2}, [&](const std::vector<PipelineStage*>& stages) {
        return PipelineSchedule(ScheduleClass::interleaved_1f1b, stages, settings);
      });
      StepInputs inputs = local.inputs();
      if (fault.inputs) fault.inputs(inputs);
      local.schedule().step(inputs);
      if (fault.after) fault.after(local);
      return local.gradients();
    });
  };
  EXPECT_EQ(run({"nothing"}), "");
  for (const ProgramFault& fault : program_faults()) EXPECT_NE(run(fault), "") << fault.name;
  EXPECT_GE(row_faults().size() + program_faults().size(), 30u);
}

}  // namespace
}  // namespace simmesh::pipeline
