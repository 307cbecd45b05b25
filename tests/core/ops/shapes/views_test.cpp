#include "core/ops/shapes/views.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/registry/registry.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

Tensor view_counted(const Shape& shape) { return arange(numel(shape), DType::int64).view(shape); }

std::string sizes_of_view(const Tensor& x) { return to_string(DimSpan(x.shape())); }

TEST(Views, ViewInfersOneSize) {
  EXPECT_EQ(sizes_of_view(view(view_counted({2, 6}), {3, -1})), "[3, 4]");
  EXPECT_EQ(sizes_of_view(view(view_counted({}), {1, 1})), "[1, 1]");
  expect_error([] { view(view_counted({6}), {-1, -1}); }, ErrorKind::runtime_error);
  expect_error([] { view(view_counted({6}), {4, -1}); }, ErrorKind::runtime_error);
  expect_error([] { view(view_counted({0, 2}), {0, -1}); }, ErrorKind::runtime_error);
  expect_error([] { view(view_counted({6}), {5}); }, ErrorKind::runtime_error);
}

// A view of strided data needs no copy where runs of dims hold whole new dims, and is refused else.
TEST(Views, ViewKeepsStridesWhereTheyCanSayIt) {
  Tensor cut = narrow(view_counted({2, 3, 4}), {.dim = 1, .start = 1, .length = 2});
  Tensor split = view(cut, {2, 2, 2, 2});
  EXPECT_EQ(split.storage(), cut.storage());
  EXPECT_EQ(to_string(split.contiguous()),
            "int64[2, 2, 2, 2] {4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23}");
  EXPECT_EQ(sizes_of_view(view(cut, {2, 8})), "[2, 8]");
  expect_error([&] { view(cut, {16}); }, ErrorKind::runtime_error);
  expect_error([] { view(transpose(view_counted({2, 3}), 0, 1), {6}); }, ErrorKind::runtime_error);
}

// For all small shapes and cuts: reshape gives the elements in row-major order, and copies only
// where a view is impossible.
TEST(Views, ReshapeEqualsTheContiguousViewForAllStrides) {
  for (const Dims& order : {Dims{0, 1, 2}, Dims{0, 2, 1}, Dims{1, 0, 2}, Dims{2, 1, 0}})
    for (const Shape& shape : {Shape{12}, Shape{3, 4}, Shape{2, 6}, Shape{4, 3}, Shape{2, 3, 2},
                               Shape{1, 12, 1}, Shape{2, 2, 3}})
      for (const Shape& from : {Shape{2, 3, 2}, Shape{3, 2, 2}, Shape{1, 4, 3}, Shape{12, 1, 1}}) {
        Tensor x = permute(view_counted(from), order);
        EXPECT_TRUE(same_bits(reshape(x, shape), x.contiguous().view(shape)))
            << sizes_of_view(x) << " to " << to_string(DimSpan(shape));
      }
}

TEST(Views, FlattenAndUnflatten) {
  EXPECT_EQ(sizes_of_view(flatten(view_counted({2, 3, 4}), 1)), "[2, 12]");
  EXPECT_EQ(sizes_of_view(flatten(view_counted({2, 3, 4}), 0, 1)), "[6, 4]");
  EXPECT_EQ(sizes_of_view(flatten(view_counted({}))), "[1]");
  EXPECT_EQ(sizes_of_view(unflatten(view_counted({2, 12}), -1, {3, -1})), "[2, 3, 4]");
}

TEST(Views, DimsChangePlaces) {
  EXPECT_EQ(to_string(t(view_counted({2, 3}))), "int64[3, 2] {0, 3, 1, 4, 2, 5}");
  EXPECT_EQ(sizes_of_view(permute(view_counted({2, 3, 4}), {-1, 0, 1})), "[4, 2, 3]");
  EXPECT_EQ(sizes_of_view(movedim(view_counted({2, 3, 4}), 0, -1)), "[3, 4, 2]");
  EXPECT_EQ(sizes_of_view(squeeze(view_counted({1, 3, 1}))), "[3]");
  EXPECT_EQ(sizes_of_view(squeeze(view_counted({1, 3, 1}), -1)), "[1, 3]");
  EXPECT_EQ(sizes_of_view(squeeze(view_counted({1, 3, 1}), 1)), "[1, 3, 1]");
  EXPECT_EQ(sizes_of_view(unsqueeze(view_counted({3}), -1)), "[3, 1]");
  expect_error([] { transpose(view_counted({2}), 0, 1); }, ErrorKind::index_error);
  expect_error([] { permute(view_counted({2, 3}), {0, 0}); }, ErrorKind::runtime_error);
  expect_error([] { unsqueeze(view_counted({2}), 2); }, ErrorKind::index_error);
}

TEST(Views, ExpandRepeatsWithoutACopy) {
  Tensor row = view_counted({1, 3});
  Tensor wide = expand(row, {2, 2, -1});
  EXPECT_EQ(wide.storage(), row.storage());
  EXPECT_EQ(to_string(wide), "int64[2, 2, 3] {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}");
  expect_error([] { expand(view_counted({2}), {3}); }, ErrorKind::runtime_error);
  expect_error([] { expand(view_counted({2}), {-1, 2}); }, ErrorKind::runtime_error);
  expect_error([] { expand(view_counted({1, 2}), {2}); }, ErrorKind::runtime_error);
}

TEST(Views, PartsOfADim) {
  Tensor x = view_counted({4, 2});
  EXPECT_EQ(to_string(select(x, 0, -1)), "int64[2] {6, 7}");
  EXPECT_EQ(to_string(slice(x, {.start = 1, .step = 2})), "int64[2, 2] {2, 3, 6, 7}");
  EXPECT_EQ(to_string(slice(x, {.start = -2, .end = -1})), "int64[1, 2] {4, 5}");
  EXPECT_EQ(sizes_of_view(slice(x, {.start = 3, .end = 1})), "[0, 2]");
  EXPECT_EQ(to_string(narrow(x, {.dim = 1, .start = 1, .length = 1})), "int64[4, 1] {1, 3, 5, 7}");
  expect_error([&] { select(x, 0, 4); }, ErrorKind::index_error);
  expect_error([&] { slice(x, {.step = 0}); }, ErrorKind::runtime_error);
  expect_error([&] { narrow(x, {.dim = 0, .start = 3, .length = 2}); }, ErrorKind::runtime_error);
  expect_error([&] { narrow(x, {.dim = 0, .start = 5, .length = 0}); }, ErrorKind::index_error);
}

TEST(Views, Diagonals) {
  Tensor x = view_counted({3, 4});
  EXPECT_EQ(to_string(diagonal(x)), "int64[3] {0, 5, 10}");
  EXPECT_EQ(to_string(diagonal(x, {.offset = 2})), "int64[2] {2, 7}");
  EXPECT_EQ(to_string(diagonal(x, {.offset = -1})), "int64[2] {4, 9}");
  EXPECT_EQ(sizes_of_view(diagonal(x, {.offset = 9})), "[0]");
  EXPECT_EQ(to_string(diagonal(view_counted({2, 2, 2}), {.dim0 = 0, .dim1 = 2})),
            "int64[2, 2] {0, 5, 2, 7}");
  expect_error([&] { diagonal(x, {.dim0 = 1, .dim1 = -1}); }, ErrorKind::runtime_error);
}

TEST(Views, SplitsCoverTheDim) {
  auto sizes = [](const std::vector<Tensor>& parts, std::int64_t dim) {
    Dims result;
    for (const Tensor& part : parts) result.push_back(part.size(dim));
    return to_string(DimSpan(result));
  };
  EXPECT_EQ(sizes(split(view_counted({5, 2}), 2), 0), "[2, 2, 1]");
  EXPECT_EQ(sizes(split(view_counted({2, 5}), {1, 0, 4}, 1), 1), "[1, 0, 4]");
  EXPECT_EQ(sizes(chunk(view_counted({5}), 4), 0), "[2, 2, 1]");
  EXPECT_EQ(sizes(chunk(view_counted({0}), 3), 0), "[0, 0, 0]");
  EXPECT_EQ(to_string(unbind(view_counted({2, 3}), 1)[2]), "int64[2] {2, 5}");
  expect_error([] { split(view_counted({5}), {2, 2}); }, ErrorKind::runtime_error);
  expect_error([] { split(view_counted({5}), {4, -1, 2}); }, ErrorKind::runtime_error);
}

TEST(Views, CloneIsContiguousAndItsOwn) {
  Tensor x = view_counted({2, 2}), copy = clone(transpose(x, 0, 1));
  copy.mutable_values<std::int64_t>()[0] = 9;
  EXPECT_EQ(to_string(x), "int64[2, 2] {0, 1, 2, 3}");
  EXPECT_EQ(to_string(copy), "int64[2, 2] {9, 2, 1, 3}");
  EXPECT_EQ(contiguous(x).storage(), x.storage());
}

TEST(Views, TypesOfAViewAreKnownWithoutData) {
  TensorType x{{2, 3}, DType::float32};
  auto types = infer_types(*find_op("transpose"), gsl::span<const TensorType>(&x, 1),
                           {attribute::dim0 = 0, attribute::dim1 = 1});
  EXPECT_EQ(types, (TensorTypes{{{3, 2}, DType::float32}}));
}

// The methods of a tensor on the tape are ops: else a user would silently lose gradients.
TEST(AttachedViews, MethodsOfRecordedTensorsAreRecorded) {
  Tensor x = formula({2, 1, 3}, {.rule = Rule::unit, .dtype = DType::float64});
  set_requires_grad(x);
  EXPECT_TRUE(x.narrow({.dim = 2, .start = 0, .length = 2}).requires_grad());
  EXPECT_TRUE(x.transpose(0, 2).requires_grad());
  EXPECT_TRUE(x.permute(Dims{2, 1, 0}).requires_grad());
  EXPECT_TRUE(x.unsqueeze(0).requires_grad());
  EXPECT_TRUE(x.squeeze(1).requires_grad());
  EXPECT_TRUE(x.view(Dims{6}).requires_grad());
  EXPECT_TRUE(x.transpose(0, 2).contiguous().requires_grad());
  EXPECT_TRUE(x.clone().requires_grad());
}

// As in PyTorch a view's requires_grad is that of its base; a copy has none.
TEST(AttachedViews, WithoutRecordingTheyRequireWhatTheirBaseDoes) {
  Tensor x = formula({2, 3}, {.rule = Rule::unit, .dtype = DType::float64});
  set_requires_grad(x);
  NoGrad scope;
  EXPECT_TRUE(x.transpose(0, 1).requires_grad());
  EXPECT_TRUE(x.squeeze(0).requires_grad());
  EXPECT_TRUE(x.unsqueeze(0).requires_grad());
  EXPECT_FALSE(x.clone().requires_grad());
}

}  // namespace
}  // namespace simmesh
