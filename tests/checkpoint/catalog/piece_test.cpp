#include "checkpoint/catalog/piece.h"

#include <gmock/gmock.h>

#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

// Returns a box of a whole tensor, as a tensor.
Tensor cut_out(Tensor tensor, const Box& box) {
  for (std::size_t dim = 0; dim < box.sizes.size(); ++dim)
    tensor = tensor.narrow({std::int64_t(dim), box.offsets[dim], box.sizes[dim]});
  return tensor.contiguous();
}

// Under every layout a piece has the elements of its box, and a write into it changes the tensor.
TEST(Piece, ViewsItsBoxOfTheTensor) {
  for (const Placement& placement :
       {Replicate(), Shard(0), Shard(1), StridedShard(0, 2), StridedShard(1, 2)})
    simmesh::testing::run_mesh_test({.mesh = {3}, .schedules = 2}, [&](const DeviceMesh& mesh) {
      Tensor all = testing::sample_whole({7, 4}, DType::float32, 1);
      Tensor tensor =
          distribute_tensor(all, mesh, {placement}, {.from_first_rank = false}).as_tensor();
      LocalTensor local = local_tensor("w", tensor);
      EXPECT_EQ(local.shape, (Shape{7, 4}));
      std::int64_t elements = 0;
      for (Piece& piece : local.pieces) {
        EXPECT_TRUE(same_bits(piece.part.contiguous(), cut_out(all, piece.box)));
        elements += piece.box.numel();
        std::vector<std::byte> bytes = packed(piece.part);
        for (std::byte& byte : bytes) byte = ~byte;
        unpack(bytes, piece.part);
        EXPECT_EQ(
            packed(local_tensor("w", tensor).pieces[std::size_t(&piece - &local.pieces[0])].part),
            bytes);
      }
      EXPECT_EQ(elements, DTensor::of(tensor).local().numel());
    });
}

TEST(Piece, OfAFlatShardIsARangeOfTheTensor) {
  Tensor all = testing::sample_whole({3, 4}, DType::int64, 1);
  for (std::int64_t begin = 0; begin <= 12; ++begin)
    for (std::int64_t end = begin; end <= 12; ++end) {
      Tensor values = all.view(Shape{12}).narrow({0, begin, end - begin}).clone();
      LocalTensor local = local_tensor("w", FlatShard{values, {3, 4}, {begin, end}});
      std::int64_t elements = 0;
      for (const Piece& piece : local.pieces) {
        ASSERT_TRUE(same_bits(piece.part.contiguous(), cut_out(all, piece.box)));
        elements += piece.box.numel();
      }
      ASSERT_EQ(elements, end - begin);
    }
}

TEST(Piece, PacksThroughStrides) {
  Tensor all = testing::sample_whole({3, 4}, DType::float32, 1);
  Tensor turned = all.permute(Dims{1, 0});
  Tensor copy = turned.contiguous();
  std::vector<std::byte> bytes = packed(turned);
  EXPECT_EQ(bytes, std::vector<std::byte>(copy.data(), copy.data() + copy.bytes()));
  Tensor target = zeros({3, 4}, DType::float32);
  Tensor view = target.permute(Dims{1, 0});
  unpack(bytes, view);
  EXPECT_TRUE(same_bits(target, all));
}

TEST(Piece, RefusesPartialSums) {
  simmesh::testing::run_mesh_test({.mesh = {2}, .schedules = 2}, [](const DeviceMesh& mesh) {
    Tensor partial = from_local(zeros({2}, DType::float32), mesh, {Partial()}).as_tensor();
    EXPECT_THAT(simmesh::testing::error_text([&] { local_tensor("w", partial); }),
                ::testing::HasSubstr("'w' has the placements"));
  });
}

TEST(Piece, ListsTensorsAndNoOtherValues) {
  StateDict state;
  state.add("step", std::int64_t{1});
  state.add("w", zeros({2}, DType::float32));
  state.add("none", zeros({0}, DType::float32));
  std::vector<LocalTensor> locals = local_tensors(state);
  ASSERT_EQ(locals.size(), 2u);
  EXPECT_EQ(locals[0].pieces.size(), 1u);
  EXPECT_TRUE(locals[1].pieces.empty());
}

}  // namespace
}  // namespace simmesh::checkpoint
