#include "zero/stage3/schedule_record.h"

#include "tests/zero/zero_runs.h"

namespace simmesh::zero {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// If this fails, a picture shows several iterations at once, or names modules by other numbers than
// those of the events: `leaf` is number 1, and the modules below it have none.
SIMMESH_TEST(ScheduleRecord, KeepsTheLastIteration, {.mesh = {2}, .schedules = 2}) {
  auto block = std::make_shared<nn::Sequential>(
      std::vector<nn::NamedModule>{{"up", new_linear(3, 5)}, {"down", new_linear(5, 3)}});
  nn::Sequential model({{"leaf", block}, {"last", new_linear(3, 2)}});
  Config config = small_stage3();
  config.zero_optimization.leaf_module.names = {"leaf"};
  Engine engine = initialize(model, make_adamw, config, ProcessGroup::world());
  ScheduleRecord record(model);
  EXPECT_TRUE(record.is_empty());
  std::vector<std::string> pictures;
  for (int step = 0; step < 4; ++step) {
    ObserverScope observer([&](const Event& event) { record.see(event); });
    engine.backward(sum(engine(rank_input(mesh.get_rank(), step, {2, 3}))));
    engine.step();
    pictures.push_back(record.svg());
  }
  EXPECT_NE(pictures[0], pictures[2]) << "the first records and prefetches nothing";
  EXPECT_EQ(pictures[2], pictures[3]) << "under a complete trace iterations are alike";
  EXPECT_GT(count_of(pictures[3], ">last"), 0u);
  EXPECT_GT(count_of(pictures[3], "leaf.up.weight"), 0u);
  EXPECT_EQ(count_of(pictures[3], ">leaf.down<"), 0u);
}

}  // namespace
}  // namespace simmesh::zero
