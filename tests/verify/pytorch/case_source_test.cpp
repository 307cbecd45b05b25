#include "verify/pytorch/case_source.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/sharding/serial_oracle.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

const CaseTensor tensor{.shape = {5, 7},
                        .data = {.rule = Rule::wide, .seed = 40, .dtype = DType::int64}};

// Pieces of the logical tensors by the serial oracle. Without partial placements there is one,
// with the case's own seed.
TEST(CaseSource, GivesThePiecesOfEachLogicalTensor) {
  const Dims mesh = {2, 3};
  for (const Sharding& sharding :
       small_worlds::shardings(2, {Shard(0), Shard(1), Replicate(), Partial()})) {
    CaseSource source(tensor, mesh, sharding);
    Dims coordinate(2, 0);
    do {
      std::uint64_t index = 0;
      bool is_partial = false;
      for (std::size_t dim = 0; dim < 2; ++dim)
        if (sharding.placements[dim].is_partial()) {
          is_partial = true;
          index = index * std::uint64_t(mesh[dim]) + std::uint64_t(coordinate[dim]);
        }
      Formula data = tensor.data;
      if (is_partial) data.seed += 1 + index;
      Tensor whole = formula(tensor.shape, data);
      Tensor expected = oracle::local<std::int64_t>(
          tensor.shape, mesh, coordinate, sharding,
          [&](std::int64_t i) { return whole.values<std::int64_t>()[std::size_t(i)]; });
      EXPECT_TRUE(same_bits(source.local(coordinate), expected)) << to_string(sharding);
    } while (next_index(coordinate, mesh));
  }
}

TEST(CaseSource, CountsTheLogicalTensors) {
  auto count = [](const char* list) {
    return CaseSource::logical_count(Dims{2, 3}, parse_placements(list));
  };
  EXPECT_EQ(count("R,S(0)"), 1);
  EXPECT_EQ(count("P(sum),S(0)"), 2);
  EXPECT_EQ(count("R,P(max)"), 3);
  EXPECT_EQ(count("P(sum),P(avg)"), 6);
}

// A request that isn't a sharding of the tensor has no pieces; asking for them must not read other
// memory.
TEST(CaseSource, RefusesWhatIsNoShardingOfTheTensor) {
  auto source = [](const char* list) {
    return [list] { CaseSource(tensor, Dims{2, 3}, {parse_placements(list), {}}); };
  };
  for (const char* list : {"", "R", "R,R,R"})
    testing::expect_error(source(list), ErrorKind::value_error, "each of 2 mesh dims");
  testing::expect_error(source("R,S(2)"), ErrorKind::index_error, "");
}

}  // namespace
}  // namespace simmesh
