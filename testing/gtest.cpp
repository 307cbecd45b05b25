#include "testing/gtest.h"

namespace simmesh::testing {

namespace {

Schedule schedule_of(std::int64_t number, std::uint64_t seed) {
  if (number == 0) return Schedule::fifo();
  if (number == 1) return Schedule::pct({.depth = 3});
  return Schedule::seeded(seed + std::uint64_t(number) - 2);
}

std::string test_name() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  return info ? fmt::format("{}.{}", info->test_suite_name(), info->name()) : "simmesh test";
}

}  // namespace

void run_mesh_test(const MeshTest& test, const std::function<void(const DeviceMesh& mesh)>& body) {
  std::optional<std::uint64_t> data_hash;
  for (std::int64_t number = 0; number < test.schedules; ++number) {
    World world({.ranks = std::size_t(element_count(test.mesh)),
                 .seed = test.seed,
                 .schedule = schedule_of(number, test.seed),
                 .threads = number % 2 == 0 ? 1u : 2u,
                 .arithmetic = test.arithmetic,
                 .device = test.device,
                 .program = test_name()});
    Outcome outcome = world.run([&](Rank&) { body(init_device_mesh(test.mesh, test.names)); });
    ASSERT_TRUE(outcome.ok()) << report(outcome);
    ASSERT_EQ(outcome.live_storages, 0) << "storages left alive\n" << to_string(outcome.repro);
    if (!data_hash) data_hash = outcome.data_hash;
    ASSERT_EQ(*data_hash, outcome.data_hash) << "two schedules give different data\n"
                                             << to_string(outcome.repro);
  }
}

}  // namespace simmesh::testing
