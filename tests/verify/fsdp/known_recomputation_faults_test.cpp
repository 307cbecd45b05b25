#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "fsdp/state/state.h"
#include "tests/fsdp/sharded_worlds.h"
#include "verify/case_files.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/read_program.h"
#include "verify/fsdp/record.h"

// Faults of activation checkpointing around sharded modules. What PyTorch does right now is
// recorded; earlier versions are put together from hooks on those modules.
namespace simmesh::fsdp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A program of forwards and backwards, with the events that were recorded of it. Each of its three
// layers recomputes a part that has a sharded module, up.
struct RecordedProgram {
  FsdpPlan plan;
  std::vector<ProgramStep> steps;
  std::vector<std::vector<EventFields>> events;
};

RecordedProgram recorded_program(const std::string& name) {
  std::vector<std::string> paths{SIMMESH_SOURCE_DIR "/tests/cases/fsdp/events.jsonl"};
  std::string id = "events_public/" + name;
  CaseFiles files =
      load_cases(paths, [&](const RecordedCase& recorded) { return recorded.id() == id; });
  const RecordedCase& recorded = files.cases.at(0);
  RecordedProgram program{
      read_fsdp_plan(recorded), read_program(recorded["program"], DType::float32), {}};
  for (const CaseField& step : recorded["program"].items())
    program.events.push_back(read_events(step["events"]));
  return program;
}

// Version changes the hooks of a sharded module.
using Version = std::function<void(nn::Module& sharded)>;

void put_in(nn::Module& model, const Version& version) {
  for (auto& [name, module] : model.named_modules())
    if (version && name.ends_with(".ffn.up")) version(*module);
}

FSDPParamGroup& group_of(nn::Module& module) { return *FSDPState::of(module)->groups().front(); }

// The actions of two ranks, and how they end.
struct Seen {
  std::string failure;
  StepEvents events;  // of the first rank

  // Describes the differences from the record.
  std::vector<std::string> differences(const RecordedProgram& program) const {
    CaseReport report;
    for (std::size_t i = 0; i < program.events.size(); ++i)
      expect_events(report, program.steps[i].act, program.events[i], events.at(i));
    return report.mismatches();
  }
};

Seen run_version(const RecordedProgram& program, const Version& version) {
  Seen seen;
  seen.failure = failure_of(2, [&](Rank& rank) {
    ShardedModel sharded(program.plan);
    sharded.wrap_all();
    put_in(sharded.model(), version);
    ProgramRun run(sharded);
    StepEvents events;
    ObserverScope observer(
        [&](const Event& event) { events.back().push_back(fields_of(event, sharded.model())); });
    for (const ProgramStep& step : program.steps) {
      events.emplace_back();
      run.run(step);
    }
    if (rank.id() == 0) seen.events = events;
  });
  return seen;
}

// A recomputation after an earlier part of the backward pass gave the parameters up didn't gather
// them again: the shards went into the product.
void leaves_shards_in_recomputation(nn::Module& sharded) {
  auto was_given_up = std::make_shared<bool>(false);
  sharded.add_first_pre_hook([was_given_up](nn::Module& module, nn::Tensors inputs) {
    FSDPParamGroup& group = group_of(module);
    *was_given_up = current_backward() && group.training_state() == TrainingState::post_backward;
    return inputs;
  });
  sharded.add_pre_hook([was_given_up](nn::Module& module, nn::Tensors inputs) {
    if (*was_given_up) group_of(module).register_shards();
    return inputs;
  });
}

TEST(KnownRecomputationFaults, ARecomputationUsesShards) {
  RecordedProgram program = recorded_program("nested_under_checkpoint_two_forwards_F");
  Seen right = run_version(program, {});
  EXPECT_EQ(right.failure, "");
  EXPECT_THAT(right.differences(program), ::testing::IsEmpty());
  Seen faulty = run_version(program, leaves_shards_in_recomputation);
  EXPECT_THAT(faulty.failure, HasSubstr("addmm"));
  EXPECT_THAT(faulty.failure, HasSubstr("got mixed torch.Tensor and DTensor"));
}

// The end of a recomputation resharded and counted as a forward: parameters were gathered once more
// for the backward that follows, and prefetches took the wrong module.
void ends_recomputation_as_forward(nn::Module& sharded) {
  sharded.add_hook([](nn::Module& module, const nn::Tensors&, nn::Tensors outputs) {
    if (!current_backward()) return outputs;
    FSDPParamGroup& group = group_of(module);
    group.set_training_state(TrainingState::forward);
    group.reshard();
    group.record_forward();
    group.set_training_state(TrainingState::idle);
    return outputs;
  });
}

std::int64_t all_gathers_of(const StepEvents& steps) {
  std::int64_t count = 0;
  for (const auto& events : steps)
    count += std::count_if(events.begin(), events.end(), [](const EventFields& event) {
      return std::get<std::string>(event.front()) == "all_gather";
    });
  return count;
}

bool has_event(const std::vector<EventFields>& events, const EventFields& wanted) {
  return std::find(events.begin(), events.end(), wanted) != events.end();
}

TEST(KnownRecomputationFaults, ARecomputationCountsAsForward) {
  RecordedProgram program = recorded_program("nested_under_checkpoint_F");
  Seen right = run_version(program, {});
  EXPECT_EQ(right.failure, "");
  EXPECT_THAT(right.differences(program), ::testing::IsEmpty());
  Seen faulty = run_version(program, ends_recomputation_as_forward);
  EXPECT_EQ(faulty.failure, "");
  // The program has two backwards.
  EXPECT_THAT(faulty.differences(program),
              ElementsAre(HasSubstr("backward: event"), HasSubstr("backward: event")));
  EXPECT_THAT(faulty.differences(program)[0],
              HasSubstr("got (reshard, layers.2.ffn.up, forward, sharded)"));
  // Each of three layers gathers once more, and prefetches layers that have run backward already.
  EXPECT_EQ(all_gathers_of(faulty.events), all_gathers_of(right.events) + 2 * (3 + 3));
  EventFields wrong = {"prefetch", "layers.2.ffn.up", "backward", "layers.1.ffn.up"};
  EXPECT_TRUE(has_event(faulty.events.back(), wrong));
  EXPECT_FALSE(has_event(right.events.back(), wrong));
}

}  // namespace
}  // namespace simmesh::fsdp
