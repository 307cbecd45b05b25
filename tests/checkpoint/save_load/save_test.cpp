#include "checkpoint/save_load/save.h"

#include <gmock/gmock.h>

#include "checkpoint/save_load/load.h"
#include "checkpoint/store/memory_store.h"
#include "collectives/collectives.h"
#include "core/check/error.h"
#include "testing/gtest.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::has_round;
using ::testing::HasSubstr;
using testing::run_world;
using testing::sample_state;
using testing::sample_tensors;

const Placement layouts[] = {Replicate(), Shard(0), Shard(-1), StridedShard(0, 2)};

// A state saved in one layout loads with the same bits in every other one, on any number of ranks.
TEST(Save, LoadsUnderEveryOtherLayout) {
  for (std::int64_t ranks = 1; ranks <= 4; ++ranks)
    for (const Placement& from : layouts) {
      Location location = {std::make_shared<MemoryStore>(), "step"};
      auto normal = [](const Placement& placement) {
        return placement.is_shard(-1) ? Shard(1) : placement;
      };
      auto samples_of = [&](const Placement& placement) {
        auto samples = sample_tensors(normal(placement));
        for (auto& sample : samples)
          if (placement.is_shard(-1) && sample.shape.size() < 2) sample.placements = {};
        return samples;
      };
      run_world(ranks, [&] {
        DeviceMesh mesh = init_device_mesh({ranks});
        save(sample_state(mesh, samples_of(from), 7), location);
      });
      for (std::int64_t others = 1; others <= 4; ++others)
        for (const Placement& to : layouts)
          run_world(others, [&] {
            DeviceMesh mesh = init_device_mesh({others});
            StateDict state = sample_state(mesh, samples_of(to), 0);
            LoadReport report = load(state, location);
            EXPECT_TRUE(has_round(state, samples_of(to), 7)) << to_string(from) << to_string(to);
            EXPECT_EQ(report.bytes_read, report.bytes_needed);
          });
    }
}

// The schedule changes no bit.
TEST(Save, HasTheSameBitsUnderEverySchedule) {
  Location location = {std::make_shared<MemoryStore>(), "step"};
  simmesh::testing::run_mesh_test({.mesh = {3}}, [&](const DeviceMesh& mesh) {
    if (this_rank().id() == 0) location.store->remove("step");
    barrier(ProcessGroup::world());
    save(sample_state(mesh, sample_tensors(Shard(0)), 3), location);
    StateDict state = sample_state(mesh, sample_tensors(Replicate()), 0);
    load(state, location);
    for (const StateDict::Entry& entry : state.entries())
      if (const auto* tensor = std::get_if<Tensor>(&entry.value))
        this_rank().record(tensor->local_part());
    EXPECT_TRUE(has_round(state, sample_tensors(Replicate()), 3));
  });
}

TEST(Save, StoresReplicasOnceAndBalancesBytes) {
  Location location = {std::make_shared<MemoryStore>(), "step"};
  run_world(4, [&] {
    DeviceMesh mesh = init_device_mesh({4});
    StateDict state;
    for (int i = 0; i < 8; ++i) state.add("w" + std::to_string(i), zeros({16}, DType::float32));
    SaveReport report = save(state, location);
    EXPECT_EQ(report.tensor_bytes, 8 * 16 * 4);
    EXPECT_EQ(report.most_of_a_rank, 2 * 16 * 4);
  });
}

TEST(Save, RefusesToOverwrite) {
  Location location = {std::make_shared<MemoryStore>(), "step"};
  for (int round : {1, 2})
    run_world(2, [&] {
      DeviceMesh mesh = init_device_mesh({2});
      StateDict state = sample_state(mesh, sample_tensors(Shard(0)), std::uint64_t(round));
      if (round == 1) {
        save(state, location);
        return;
      }
      EXPECT_THAT(error_text([&] { save(state, location); }), HasSubstr("a save never overwrites"));
    });
}

// Two programs that save at the same time would mix their files.
TEST(Save, RefusesASecondWriter) {
  auto store = std::make_shared<MemoryStore>();
  auto held = store->lock();
  run_world(2, [&] {
    EXPECT_THAT(error_text([&] {
                  save(StateDict(), {store, "step"});
                }),
                HasSubstr("another save is under way"));
  });
}

TEST(Save, RefusesPartialSumsAndUnequalTensors) {
  Location location = {std::make_shared<MemoryStore>(), "step"};
  auto refused_with = [&](const char* text, const std::function<StateDict()>& make) {
    run_world(2,
              [&] { EXPECT_THAT(error_text([&] { save(make(), location); }), HasSubstr(text)); });
    EXPECT_TRUE(location.store->files("").empty());
  };
  refused_with("without Partial", [] {
    StateDict state;
    state.add(
        "w",
        from_local(zeros({2}, DType::float32), init_device_mesh({2}), {Partial()}).as_tensor());
    return state;
  });
  refused_with("but float32[2] on a lower one", [] {
    StateDict state;
    state.add("w", zeros({2 + this_rank().id()}, DType::float32));
    return state;
  });
  refused_with("a shard is missing", [] {
    StateDict state;
    if (this_rank().id() == 0) state.add("w", FlatShard{zeros({2}, DType::float32), {4}, {0, 2}});
    return state;
  });
}

TEST(Save, KeepsTheYoungest) {
  auto store = std::make_shared<MemoryStore>();
  for (int step = 1; step <= 4; ++step)
    run_world(2, [&] {
      StateDict state;
      state.add("step", std::int64_t(step));
      save(state, {store, "step_" + std::to_string(step)}, {.commit = {.keep = 2}});
    });
  std::vector<std::string> names;
  for (const CommittedCheckpoint& checkpoint : committed_checkpoints(*store))
    names.push_back(checkpoint.name);
  EXPECT_EQ(names, (std::vector<std::string>{"step_3", "step_4"}));
  EXPECT_EQ(store->folders(""), names);
  EXPECT_EQ(latest(store)->name, "step_4");
}

}  // namespace
}  // namespace simmesh::checkpoint
