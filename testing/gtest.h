#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <optional>

#include "collectives/process_group.h"
#include "core/engine/world.h"
#include "mesh/device_mesh.h"
#include "testing/test_request.h"

namespace simmesh::testing {

// MeshTest are the options of a SIMMESH_TEST: its mesh, which has all ranks of its world, and the
// number of schedules.
struct MeshTest {
  Shape mesh = {1};
  DimNames names = {};
  // The number of schedules: FIFO, PCT(3), and then seeded schedules from `seed` on, alternately
  // with one thread and with two. Ranks draw the random numbers of `seed` under all of them.
  std::int64_t schedules = 8;
  std::uint64_t seed = 1;
  Arithmetic arithmetic = Arithmetic::canonical();
  Release release = newest_release;
  // The device that each rank simulates, if any.
  std::optional<DeviceModel> device = {};
  double timeout_seconds = 60.0;
};

// MeshTestBody is what every rank of a MeshTest runs.
using MeshTestBody = std::function<void(const DeviceMesh& mesh)>;

// run_mesh_test runs a body on every rank under many schedules, or under those that the command
// line names. It fails, at the given place, if a run fails, if two schedules give different data
// hashes, or if a tensor is left alive, and prints the command that runs that schedule again. Freed
// memory is poisoned.
void run_mesh_test(const MeshTest& test, const MeshTestBody& body, CallSite site = CallSite::here(),
                   const TestRequest& request = TestRequest::of_this_process());

}  // namespace simmesh::testing

// SIMMESH_TEST(Suite, name, {.mesh = {2, 2}, .schedules = 100}) { ... } is a test whose body every
// rank runs, with its own view of `mesh`. Checks on ranks raise or use EXPECT_SAME_BITS.
#define SIMMESH_TEST(suite, name, ...)                                             \
  static void simmesh_body_##suite##_##name(const ::simmesh::DeviceMesh& mesh);    \
  TEST(suite, name) {                                                              \
    ::simmesh::testing::run_mesh_test(__VA_ARGS__, simmesh_body_##suite##_##name); \
  }                                                                                \
  static void simmesh_body_##suite##_##name([[maybe_unused]] const ::simmesh::DeviceMesh& mesh)

// SIMMESH_TEST_P(Fixture, name, {.mesh = {GetParam()}}) { ... } is a SIMMESH_TEST for each value of
// INSTANTIATE_TEST_SUITE_P. Fixture is a class derived from ::testing::TestWithParam. The options
// and the body may call GetParam() and static members of the fixture; the body is a static member
// itself, since all ranks run it.
#define SIMMESH_TEST_P(fixture, name, ...)                                \
  struct simmesh_##fixture##_##name : fixture {                           \
    static ::simmesh::testing::MeshTest options() { return __VA_ARGS__; } \
    static void body(const ::simmesh::DeviceMesh& mesh);                  \
  };                                                                      \
  TEST_P(fixture, name) {                                                 \
    using Parts = simmesh_##fixture##_##name;                             \
    ::simmesh::testing::run_mesh_test(Parts::options(), Parts::body);     \
  }                                                                       \
  void simmesh_##fixture##_##name::body([[maybe_unused]] const ::simmesh::DeviceMesh& mesh)

// EXPECT_SAME_BITS ends the run if the tensors differ. It names the rank and the line, the number
// of elements that differ, the largest difference, and the first such element.
#define EXPECT_SAME_BITS(actual, expected) \
  ::simmesh::this_rank().expect_same_bits((actual), (expected))
