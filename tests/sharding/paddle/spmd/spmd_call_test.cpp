#include "sharding/paddle/spmd/spmd_call.h"

#include <gtest/gtest.h>

namespace simmesh::paddle {
namespace {

SpmdCall a_call() {
  SpmdTensor x{.shape = {4, 8}, .attr = {.dims_mapping = {{0, 1}, {}}, .partial_status = {}}};
  return {.op = "op",
          .mesh_shape = {2, 4},
          .inputs = {x, std::vector<SpmdTensor>{x}},
          .attributes = {true, std::int64_t(3), std::string("NCHW"), std::vector<std::int64_t>{1}}};
}

TEST(SpmdCall, AccessorsCheckTypes) {
  SpmdCall call = a_call();
  EXPECT_TRUE(call.boolean(0));
  EXPECT_EQ(call.integer(1), 3);
  EXPECT_EQ(call.text(2), "NCHW");
  EXPECT_EQ(call.integers(3), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(call.integers(1), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(call.tensors(1).size(), 1u);
  EXPECT_THROW(call.tensor(1), Error);
  EXPECT_THROW(call.tensors(0), Error);
  EXPECT_THROW(call.boolean(1), Error);
  EXPECT_THROW(call.text(9), Error);
}

// A rule that knows one mesh dim a tensor dim sees the largest.
TEST(SpmdCall, SingleFallsBackToTheLargestMeshDim) {
  SpmdCall call = a_call();
  EXPECT_EQ(call.single(call.tensor(0)), (Dims{1, -1}));
  EXPECT_EQ(to_string(attr_of(call.single(call.tensor(0)))), "[[1],[]]");
}

TEST(SpmdCall, DimsCountFromBothEnds) {
  EXPECT_EQ(a_call().dim_of(-1, 2), 1u);
  EXPECT_THROW(a_call().dim_of(2, 2), Error);
}

}  // namespace
}  // namespace simmesh::paddle
