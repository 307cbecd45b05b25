#include <fstream>
#include <gtest/gtest.h>

#include <simmesh/collectives/collectives.h>
#include <simmesh/core/engine/world.h>

namespace simmesh {
namespace {

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

// A hundred thousand ranks are made, reduce over both dims of a mesh, and are gone again.
TEST(Scale, AHundredThousandRanksReduceOverAMesh) {
  constexpr std::int64_t rows = 250, columns = 400;
  std::size_t before = resident_bytes(), peak = 0;
  World world({.ranks = std::size_t(rows * columns), .stack_bytes = 16 * 1024});
  Outcome outcome = world.run([&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({rows, columns}, {"dp", "tp"});
    Tensor one = full({4}, DType::int32, 1);
    Tensor row = all_reduce(one, ReduceOp::sum, process_group(mesh, "tp"));
    Tensor all = all_reduce(row, ReduceOp::sum, process_group(mesh, "dp"));
    rank.expect_same_bits(all, full({4}, DType::int32, double(rows * columns)));
    if (rank.id() == 0) peak = resident_bytes();
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  std::size_t a_rank = (peak - before) / std::size_t(rows * columns);
  RecordProperty("resident_bytes_a_rank", std::to_string(a_rank));
#if !defined(SIMMESH_ASAN) && !defined(SIMMESH_TSAN)
  EXPECT_LE(a_rank, 10u * 1024u);
#endif
}

}  // namespace
}  // namespace simmesh
