#include "checkpoint/mapping/mapped_tensor.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;

MappedTensor stored_as(const std::string& name, const Shape& shape, DType dtype = DType::float32) {
  return MappedTensor::of(name, shape, dtype);
}

// Returns the stored element of each element of a mapped tensor.
std::vector<std::string> elements_of(const MappedTensor& mapped) {
  std::vector<std::string> elements(std::size_t(simmesh::numel(mapped.shape)), "none");
  Strides strides = contiguous_strides(mapped.shape);
  for (const MappedPiece& piece : mapped.pieces) {
    Dims index(mapped.shape.size(), 0);
    do {
      std::int64_t place = 0;
      Dims source = piece.source.offsets;
      for (std::size_t dim = 0; dim < index.size(); ++dim) {
        place += (piece.target.offsets[dim] + index[dim]) * strides[dim];
        source[piece.permutation[dim]] += index[dim];
      }
      EXPECT_EQ(elements[std::size_t(place)], "none");
      elements[std::size_t(place)] = piece.stored + simmesh::to_string(source);
    } while (next_index(index, piece.target.sizes));
  }
  return elements;
}

TEST(MappedTensor, IsMadeOfStoredElements) {
  EXPECT_THAT(elements_of(stored_as("a", {2, 2}).permuted({1, 0})),
              ::testing::ElementsAre("a[0, 0]", "a[1, 0]", "a[0, 1]", "a[1, 1]"));
  EXPECT_THAT(elements_of(joined({stored_as("a", {1, 2}), stored_as("b", {1, 2})}, 0)
                              .permuted({1, 0})
                              .cut(0, 1, 1)),
              ::testing::ElementsAre("a[0, 1]", "b[0, 1]"));
}

// A permuted tensor that is cut anywhere and joined again is the same.
TEST(MappedTensor, CutAndJoinedIsTheSame) {
  for (const std::vector<std::size_t>& permutation : std::vector<std::vector<std::size_t>>{
           {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    MappedTensor turned = stored_as("a", {2, 3, 4}).permuted(permutation);
    for (std::size_t dim = 0; dim < 3; ++dim)
      for (std::int64_t at = 0; at <= turned.shape[dim]; ++at) {
        MappedTensor again =
            joined({turned.cut(dim, 0, at), turned.cut(dim, at, turned.shape[dim] - at)}, dim);
        EXPECT_EQ(again.shape, turned.shape);
        EXPECT_EQ(elements_of(again), elements_of(turned));
      }
  }
}

TEST(MappedTensor, CastsAreAChain) {
  MappedTensor tensor = stored_as("a", {2}).cast(DType::float32).cast(DType::bfloat16);
  EXPECT_EQ(tensor.dtypes, (std::vector<DType>{DType::float32, DType::bfloat16}));
  EXPECT_EQ(tensor.cast(DType::float32).dtype(), DType::float32);
  EXPECT_EQ(tensor.cast(DType::float32).dtypes.size(), 3u);
}

TEST(MappedTensor, RefusesWhatCantBeJoined) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  auto problem = [](const std::vector<MappedTensor>& tensors) {
    return error_text([&] { joined(tensors, 0); });
  };
  MappedTensor a = stored_as("a", {2, 3});
  EXPECT_THAT(problem({a, stored_as("b", {2, 4})}), HasSubstr("can't be joined along dim 0"));
  EXPECT_THAT(problem({a, stored_as("b", {2})}), HasSubstr("the shapes [2, 3] and [2]"));
  EXPECT_THAT(problem({a, stored_as("b", {2, 3}, DType::float16)}), HasSubstr("of other dtypes"));
  EXPECT_THAT(problem({stored_as("a", {huge, 0}), stored_as("b", {huge, 0})}),
              HasSubstr("more than 2^63 elements"));
  for (int i = 0; i < 20; ++i) a = joined({a, a}, 0);
  EXPECT_THAT(problem({a, a}), HasSubstr("joined from more than 1048576 pieces"));
}

}  // namespace
}  // namespace simmesh::checkpoint
