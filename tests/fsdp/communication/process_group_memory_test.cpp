#include "fsdp/communication/process_group_memory.h"

#include <gmock/gmock.h>

#include "core/engine/reports/outcome.h"
#include "tests/fsdp/device_trials.h"

namespace simmesh::fsdp {
namespace {

Trial trial_with_group_memory(bool from_group) {
  return {.width = 64, .steps = 2, .prepare = [from_group](nn::Module& model) {
            for (auto& [name, module] : model.named_modules())
              if (FSDPState::of(*module))
                FSDPModule(*module).set_allocate_memory_from_process_group_for_comm(from_group);
          }};
}

// Segments of a communicator are no stream's: what streams give back doesn't fit into them, nor the
// other way round, so the device reserves more for the same blocks.
TEST(ProcessGroupMemory, IsReservedBesidesThatOfStreams) {
  DeviceReport own = report_of(trial_with_group_memory(false));
  DeviceReport group = report_of(trial_with_group_memory(true));
  EXPECT_EQ(group.memory.active.peak, own.memory.active.peak);
  EXPECT_GT(group.memory.reserved.peak, own.memory.reserved.peak);
}

// The results are the same, and memory that goes back to the pool races with nothing.
TEST(ProcessGroupMemory, ChangesNoResult) {
  for (const Shape& mesh : {Shape{3}, Shape{2, 2}}) {
    std::optional<std::uint64_t> data_hash;
    for (bool from_group : {false, true}) {
      Trial trial = trial_with_group_memory(from_group);
      trial.mesh = mesh;
      EXPECT_EQ(race_in(trial), "");
      Outcome outcome =
          on_devices(ranks_of(trial), {}, "fifo", 1, [&](Rank& rank) { train(trial, rank); });
      if (!data_hash) data_hash = outcome.data_hash;
      EXPECT_EQ(outcome.data_hash, *data_hash);
    }
  }
}

// A group's pool is found again, and is another one than that of other groups.
TEST(ProcessGroupMemory, IsOneOfEachGroup) {
  Outcome outcome = on_devices(2, {}, "fifo", 1, [](Rank&) {
    ProcessGroup world = ProcessGroup::world(),
                 other = ProcessGroup::of(RankList::of({0, 1}), "other");
    auto address_in = [](const ProcessGroup& group) {
      return process_group_memory(group)({1000}, DType::float32).storage()->address();
    };
    DeviceAddress address = address_in(world);
    expect(address_in(other) != address, "another pool of another group");
    expect(empty({1000}, DType::float32).storage()->address() != address, "no stream's memory");
    expect(address_in(world) == address, "the memory that was given back");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Symmetric memory isn't simulated: the error names the alternatives.
TEST(ProcessGroupMemory, IsNotSymmetric) {
  EXPECT_THAT(failure_of(2,
                         [](Rank&) {
                           nn::ModulePtr model = build_model(small_model(1, 5));
                           shard_layers(*model);
                           FSDPModule(*model).set_symm_mem_for_comm();
                         }),
              ::testing::HasSubstr("expected set_allocate_memory_from_process_group_for_comm"));
}

}  // namespace
}  // namespace simmesh::fsdp
