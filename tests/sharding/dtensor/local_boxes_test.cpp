#include "sharding/dtensor/local_boxes.h"

#include <gtest/gtest.h>

#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/every_schedule.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

Tensor box_of(Tensor tensor, const Dims& offset, const Shape& shape) {
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    tensor = tensor.narrow({std::int64_t(dim), offset[dim], shape[dim]});
  return tensor.contiguous();
}

// A box is at another place of the tensor than in the piece, or some elements are in none.
TEST(LocalBoxes, HoldEachElementOfThePieceOnceAtItsPlace) {
  run_every_schedule(4, [&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2});
    Placements alphabet{Replicate(), Shard(0), Shard(1), StridedShard(0, 2), StridedShard(1, 3)};
    for (Shape shape : {Shape{7, 6}, Shape{1, 4}, Shape{0, 3}}) {
      Tensor whole = formula(shape, {.seed = 4});
      for (const Placements& list : small_worlds::lists(2, alphabet)) {
        DTensor x = distribute_tensor(whole, mesh, list);
        std::int64_t elements = 0;
        for (const LocalBox& box : local_boxes(x.spec())) {
          rank.expect_same_bits(box_of(x.local(), box.local_offset, box.shape),
                                box_of(whole, box.global_offset, box.shape));
          elements += numel(box.shape);
        }
        EXPECT_EQ(x.local().numel(), elements) << to_string(x.spec());
      }
    }
  });
}

// A tensor without dims is one box.
TEST(LocalBoxes, AScalarIsOneBox) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) {
    DTensor x = distribute_tensor(zeros({}, DType::float32), init_device_mesh({2}), {Replicate()});
    EXPECT_EQ(1, local_boxes(x.spec()).size());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
