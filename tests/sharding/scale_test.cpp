#include <fstream>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/engine/world.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {
namespace {

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

// A hundred thousand ranks are made, reduce over both dims of a mesh, redistribute, and are gone
// again.
TEST(Scale, AHundredThousandRanksReduceAndRedistribute) {
  // A sanitizer keeps a record of each fiber, and its frames are larger.
#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN)
  constexpr std::int64_t rows = 25, columns = 40;
  constexpr std::size_t stack_bytes = 64 * 1024;
#else
  constexpr std::int64_t rows = 250, columns = 400;
  constexpr std::size_t stack_bytes = 16 * 1024;
#endif
  std::size_t before = resident_bytes(), reduced = 0, redistributed = 0;
  World world({.ranks = std::size_t(rows * columns), .stack_bytes = stack_bytes});
  Outcome outcome = world.run([&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({rows, columns}, {"dp", "tp"});
    Tensor one = full({4}, DType::int32, 1);
    Tensor row = all_reduce(one, ReduceOp::sum, process_group(mesh, "tp"));
    Tensor all = all_reduce(row, ReduceOp::sum, process_group(mesh, "dp"));
    rank.expect_same_bits(all, full({4}, DType::int32, double(rows * columns)));
    if (rank.id() == 0) reduced = resident_bytes();
    DTensor pieces = from_local(row, mesh, {Shard(0), Replicate()}, {.shape = Shape{4 * rows}});
    Tensor whole = pieces.redistribute({Replicate(), Replicate()}).to_local();
    rank.expect_same_bits(whole, full({4 * rows}, DType::int32, double(columns)));
    if (rank.id() == 0) redistributed = resident_bytes();
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  constexpr std::size_t ranks = rows * columns;
  RecordProperty("reduced_bytes_a_rank", std::to_string((reduced - before) / ranks));
  RecordProperty("redistributed_bytes_a_rank", std::to_string((redistributed - before) / ranks));
#if !defined(SIMMESH_ASAN) && !defined(SIMMESH_TSAN)
  EXPECT_LE((reduced - before) / ranks, 10u * 1024u);
  // Two pages of a rank's stack, and no third one; the rest, some 2 KiB, is a rank's groups, spec
  // and pieces of the tensor. What earlier tests have freed is used again, so it may be less.
  EXPECT_LE((redistributed - before) / ranks, 11u * 1024u);
#endif
}

}  // namespace
}  // namespace simmesh
