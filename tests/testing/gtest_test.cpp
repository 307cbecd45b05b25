#include "testing/gtest.h"

#include <gtest/gtest-spi.h>

#include "collectives/collectives.h"
#include "core/engine/shared.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

SIMMESH_TEST(MeshFixture, AnAllReduceAddsTheOperands, {.mesh = {2, 4}, .schedules = 20}) {
  Tensor x = formula({16, 8}, {.rule = Rule::wide, .seed = 1});
  EXPECT_SAME_BITS(all_reduce(x, ReduceOp::max, process_group(mesh, 1)), x);
}

void fail_on_rank_one(const DeviceMesh& mesh) {
  if (mesh.get_rank() == 1) throw std::runtime_error("broken");
}

TEST(MeshFixture, AFailureCarriesItsReproLine) {
  EXPECT_FATAL_FAILURE(
      testing::run_mesh_test({.mesh = {2}}, fail_on_rank_one),
      "reproduce: MeshFixture.AFailureCarriesItsReproLine --seed 1 --schedule fifo");
}

// A body that depends on the schedule fails, because schedules are compared.
void record_order(const DeviceMesh&) {
  static Shared<int> order("order", 0);
  this_rank().record(std::uint64_t(order.use([](int& value) { return value++ % 3; })));
}

TEST(MeshFixture, AResultThatDependsOnTheScheduleIsFound) {
  EXPECT_FATAL_FAILURE(testing::run_mesh_test({.mesh = {3}, .schedules = 20}, record_order),
                       "two schedules give different data");
}

}  // namespace
}  // namespace simmesh
