#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <optional>

#include "collectives/process_group.h"
#include "core/engine/world.h"
#include "mesh/device_mesh.h"

namespace simmesh::testing {

// MeshTest says on which mesh a SIMMESH_TEST runs, and under how many schedules. The mesh has all
// ranks of its world.
struct MeshTest {
  Shape mesh = {1};
  DimNames names = {};
  // The number of schedules: FIFO, PCT(3), and then seeded ones from `seed` on, alternately with
  // one thread and with two. The random numbers of the ranks are those of `seed` under all of them.
  std::int64_t schedules = 8;
  std::uint64_t seed = 1;
  Arithmetic arithmetic = Arithmetic::canonical();
  // The device that each rank simulates; none where it isn't given.
  std::optional<DeviceModel> device = {};
};

// run_mesh_test runs a body on every rank under many schedules. It fails if a run fails, if two
// schedules give different data hashes, or if a tensor is left alive, and prints the line that
// reproduces the failure.
void run_mesh_test(const MeshTest& test, const std::function<void(const DeviceMesh& mesh)>& body);

}  // namespace simmesh::testing

// SIMMESH_TEST(Suite, name, {.mesh = {2, 2}, .schedules = 100}) { ... } is a test whose body every
// rank runs, with its own view of `mesh`. Checks on ranks throw or use EXPECT_SAME_BITS.
#define SIMMESH_TEST(suite, name, ...)                                             \
  static void simmesh_body_##suite##_##name(const ::simmesh::DeviceMesh& mesh);    \
  TEST(suite, name) {                                                              \
    ::simmesh::testing::run_mesh_test(__VA_ARGS__, simmesh_body_##suite##_##name); \
  }                                                                                \
  static void simmesh_body_##suite##_##name([[maybe_unused]] const ::simmesh::DeviceMesh& mesh)

// EXPECT_SAME_BITS ends the run if the tensors differ, and names the rank and the element.
#define EXPECT_SAME_BITS(actual, expected) \
  ::simmesh::this_rank().expect_same_bits((actual), (expected))
