#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <optional>

#include "collectives/process_group.h"
#include "core/engine/world.h"
#include "mesh/device_mesh.h"

namespace simmesh::testing {

// MeshTest says on what a SIMMESH_TEST runs: a mesh that fills its world, and how often.
struct MeshTest {
  Shape mesh = {1};
  DimNames names = {};
  // Schedules in all: FIFO, PCT(3), and seeded ones from `seed` on, in turn with one and with two
  // threads. The random numbers of the ranks are those of `seed` under all of them.
  std::int64_t schedules = 8;
  std::uint64_t seed = 1;
  Arithmetic arithmetic = Arithmetic::canonical();
  // The device that each rank simulates; none where it isn't given.
  std::optional<DeviceModel> device = {};
};

// run_mesh_test runs a body on every rank under many schedules. It fails where a run fails, where
// two schedules give different data hashes, and where something is left alive; each with the line
// that reproduces it.
void run_mesh_test(const MeshTest& test, const std::function<void(const DeviceMesh& mesh)>& body);

}  // namespace simmesh::testing

// SIMMESH_TEST(Suite, name, {.mesh = {2, 2}, .schedules = 100}) { ... } is a test whose body every
// rank runs, with `mesh` as it sees it. Expectations on ranks throw or use EXPECT_SAME_BITS.
#define SIMMESH_TEST(suite, name, ...)                                             \
  static void simmesh_body_##suite##_##name(const ::simmesh::DeviceMesh& mesh);    \
  TEST(suite, name) {                                                              \
    ::simmesh::testing::run_mesh_test(__VA_ARGS__, simmesh_body_##suite##_##name); \
  }                                                                                \
  static void simmesh_body_##suite##_##name([[maybe_unused]] const ::simmesh::DeviceMesh& mesh)

// EXPECT_SAME_BITS ends the run where the tensors differ, naming rank and element.
#define EXPECT_SAME_BITS(actual, expected) \
  ::simmesh::this_rank().expect_same_bits((actual), (expected))
