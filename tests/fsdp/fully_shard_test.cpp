#include "fsdp/fully_shard.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/reductions/reductions.h"
#include "fsdp/state/event_fields.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

// The schedule changes nothing: neither bits nor events.
TEST(FullyShard, GivesTheSameEventsAndGradientsUnderAllSchedules) {
  TrainingModel plan = small_model(2, 5);
  std::vector<EventFields> first;
  every_schedule(4, [&](Rank& rank) {
    nn::ModulePtr model = build_model(plan);
    shard_layers(*model, {.reshard_after_forward = true});
    std::vector<EventFields> events;
    ObserverScope observer([&](const Event& event) { events.push_back(fields_of(event, *model)); });
    Tensor x = formula({3, 5}, {.rule = Rule::unit, .seed = rank.id()});
    backward(sum((*model)(x)));
    for (const Tensor& parameter : model->parameters())
      rank.record(grad_of(parameter).local_part());
    if (rank.id() != 0) return;
    if (first.empty()) first = events;
    expect(events == first, "the events of the first schedule");
  });
}

// If this fails, ranks gather parts of different parameters of one size, and no one is told.
TEST(FullyShard, RanksThatGatherDifferentLayersAreAMismatch) {
  TrainingModel plan = small_model(2, 4);
  for (const char* schedule : {"fifo", "seeded:1", "pct:2"}) {
    World world({.ranks = 2, .schedule = Schedule::parse(schedule)});
    Outcome outcome = world.run([&](Rank& rank) {
      nn::ModulePtr model = build_model(plan);
      for (auto& [name, layer] : model->find("layers").children()) fully_shard(*layer, {});
      fully_shard(*model, {});
      backward(sum((*model)(formula({3, 4}, {.rule = Rule::unit}))));
      FSDPModule(model->find(rank.id() == 0 ? "layers.0" : "layers.1")).unshard();
    });
    std::string text = report(outcome);
    EXPECT_NE(text.find("the contents differ: rank 0 brings layers.0."), text.npos) << text;
    EXPECT_NE(text.find("rank 1 brings layers.1."), text.npos) << text;
  }
}

// If this fails, the report of a hang in FSDP names lines of the library, and no module.
TEST(FullyShard, ReportsNameTheModuleAndTheLineOfTheUser) {
  TrainingModel plan = small_model(2, 4);
  int line = 0;
  Outcome hang = World({.ranks = 2}).run([&](Rank& rank) {
    nn::ModulePtr model = build_model(plan);
    line = __LINE__ + 1;
    fully_shard(*model, {});
    if (rank.id() == 0) (*model)(formula({3, 4}, {.rule = Rule::unit}));
  });
  std::string text = report(hang);
  std::string site = fmt::format("fully_shard_test.cpp:{} (fully_shard of the root)", line);
  EXPECT_NE(text.find("rank 0: waited in all_gather #"), text.npos) << text;
  EXPECT_NE(text.find(site), text.npos) << text;

  Outcome mismatch = World({.ranks = 2}).run([&](Rank& rank) {
    nn::ModulePtr model = build_model(plan);
    line = __LINE__ + 1;
    for (auto& [name, layer] : model->find("layers").children()) fully_shard(*layer, {});
    fully_shard(*model, {});
    backward(sum((*model)(formula({3, 4}, {.rule = Rule::unit}))));
    if (rank.id() == 1) barrier(ProcessGroup::world());
    FSDPModule(model->find("layers.1")).unshard();
  });
  site = fmt::format("fully_shard_test.cpp:{} (fully_shard of layers.1)", line);
  EXPECT_NE(report(mismatch).find(site), std::string::npos) << report(mismatch);
}

}  // namespace
}  // namespace simmesh::fsdp
