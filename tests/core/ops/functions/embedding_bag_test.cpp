#include "core/ops/functions/embedding_bag.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

using Place = std::int64_t;

Tensor table() { return to(arange(12), DType::float32).view(Dims{6, 2}); }
Tensor bag_places() { return tensor_of<Place>({6}, {1, 2, 4, 5, 4, 3}); }

// If this fails, a row is counted in another bag, or an empty bag isn't zero.
TEST(EmbeddingBag, VectorsAreCutAtTheOffsets) {
  Tensor offsets = tensor_of<Place>({3}, {0, 0, 3});
  EXPECT_EQ(
      to_string(embedding_bag(bag_places(), table(), {.offsets = offsets, .mode = BagMode::sum})),
      "float32[3, 2] {0, 0, 14, 17, 24, 27}");
  EXPECT_EQ(
      to_string(embedding_bag(bag_places(), table(), {.offsets = offsets, .mode = BagMode::max})),
      "float32[3, 2] {0, 0, 8, 9, 10, 11}");
  EXPECT_EQ(to_string(embedding_bag(
                bag_places(), table(),
                {.offsets = tensor_of<Place>({3}, {0, 2, 6}), .includes_last_offset = true})),
            "float32[2, 2] {3, 4, 8, 9}");
}

TEST(EmbeddingBag, PaddingIsntCounted) {
  EXPECT_EQ(to_string(embedding_bag(bag_places().view(Dims{2, 3}), table(), {.padding_idx = 4})),
            "float32[2, 2] {3, 4, 8, 9}");
  EXPECT_EQ(to_string(embedding_bag(bag_places().view(Dims{2, 3}), table(),
                                    {.mode = BagMode::max, .padding_idx = -2})),
            "float32[2, 2] {4, 5, 10, 11}");
}

TEST(EmbeddingBag, WeightsScaleTheRowsOfASum) {
  Tensor weights = to(arange(6), DType::float32), weight = table();
  EmbeddingBags bags{
      .offsets = tensor_of<Place>({2}, {0, 2}), .weights = weights, .mode = BagMode::sum};
  EXPECT_EQ(to_string(embedding_bag(bag_places(), weight, bags)), "float32[2, 2] {4, 5, 108, 122}");
  set_requires_grad(weight);
  EXPECT_EQ(to_string(grad({sum(embedding_bag(bag_places(), weight, bags))}, {weight})[0]),
            "float32[6, 2] {0, 0, 0, 0, 1, 1, 5, 5, 6, 6, 3, 3}");
}

TEST(EmbeddingBag, WrongBagsAreRefused) {
  auto refused = [&](const Tensor& indices, const EmbeddingBags& bags, ErrorKind kind) {
    expect_error([&] { embedding_bag(indices, table(), bags); }, kind, "embedding");
  };
  Tensor first = tensor_of<Place>({1}, {0});
  refused(bag_places(), {}, ErrorKind::value_error);
  refused(bag_places().view(Dims{2, 3}), {.offsets = first}, ErrorKind::value_error);
  refused(bag_places().view(Dims{1, 2, 3}), {}, ErrorKind::value_error);
  refused(bag_places(), {.offsets = tensor_of<Place>({1}, {1})}, ErrorKind::runtime_error);
  refused(bag_places(), {.offsets = tensor_of<Place>({2}, {0, 7})}, ErrorKind::runtime_error);
  refused(bag_places(), {.offsets = tensor_of<Place>({3}, {0, 4, 3})}, ErrorKind::runtime_error);
  refused(bag_places(), {.offsets = first, .weights = zeros({6}, DType::float32)},
          ErrorKind::not_implemented_error);
  refused(tensor_of<Place>({1}, {6}), {.offsets = first}, ErrorKind::index_error);
}

}  // namespace
}  // namespace simmesh
