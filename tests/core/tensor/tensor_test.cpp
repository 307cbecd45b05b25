#include "core/tensor/tensor.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "core/check/check.h"
#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

Tensor counted(std::initializer_list<std::int64_t> shape) {
  Tensor result = empty(shape, DType::int32);
  std::int32_t next = 0;
  for (std::int32_t& value : result.mutable_values<std::int32_t>()) value = next++;
  return result;
}

std::vector<std::int32_t> elements(const Tensor& tensor) {
  Tensor rows = tensor.contiguous();
  auto values = rows.values<std::int32_t>();
  return {values.begin(), values.end()};
}

// If this fails, a view shows other elements, or has storage of its own.
TEST(Tensor, ViewsShareTheStorage) {
  Tensor a = counted({2, 3, 4});
  Tensor middle = a.narrow({.dim = 1, .start = 1, .length = 2});
  EXPECT_EQ(elements(middle),
            (std::vector<std::int32_t>{4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(elements(counted({2, 3}).transpose(0, -1)),
            (std::vector<std::int32_t>{0, 3, 1, 4, 2, 5}));
  Dims order{2, 0, 1};
  EXPECT_EQ(a.permute(order).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(elements(a.permute(order))[1], 4);
  EXPECT_EQ(a.unsqueeze(1).shape(), (Shape{2, 1, 3, 4}));
  EXPECT_EQ(a.unsqueeze(1).strides(), (Strides{12, 12, 4, 1}));
  EXPECT_EQ(a.unsqueeze(-1).shape(), (Shape{2, 3, 4, 1}));
  EXPECT_EQ(a.unsqueeze(0).squeeze(0).shape(), a.shape());
  EXPECT_EQ(a.squeeze(1).shape(), a.shape()) << "a dim of more than one element stays";
  EXPECT_EQ(a.view(Dims{6, 4}).shape(), (Shape{6, 4}));
  for (const Tensor& view :
       {middle, a.transpose(0, 1), a.permute(order), a.unsqueeze(0), a.view(Dims{24})})
    EXPECT_EQ(view.storage(), a.storage());
}

// If this fails, a write through a view is lost, or goes to the wrong elements.
TEST(Tensor, WritesThroughViewsAreSeen) {
  Tensor a = zeros({3, 2}, DType::int32);
  Tensor column = a.narrow({.dim = 1, .start = 1, .length = 1});
  copy_(column, tensor_of<std::int32_t>({3, 1}, {7, 8, 9}));
  EXPECT_EQ(elements(a), (std::vector<std::int32_t>{0, 7, 0, 8, 0, 9}));
}

// If this fails, misuse is reported as another error than in PyTorch, or not at all.
TEST(Tensor, WrongViewsAreRefused) {
  Tensor a = counted({2, 3});
  for (std::int64_t dim : {-3, 2}) {
    expect_error([&] { (void)a.narrow({.dim = dim, .start = 0, .length = 1}); },
                 ErrorKind::index_error);
    expect_error([&] { (void)a.transpose(dim, 0); }, ErrorKind::index_error);
    expect_error([&] { (void)a.transpose(0, dim); }, ErrorKind::index_error);
    expect_error([&] { (void)a.squeeze(dim); }, ErrorKind::index_error);
  }
  for (std::int64_t dim : {-4, 3})
    expect_error([&] { (void)a.unsqueeze(dim); }, ErrorKind::index_error);
  std::int64_t huge = INT64_MAX;
  for (Tensor::Narrow range :
       {Tensor::Narrow{1, -1, 1}, Tensor::Narrow{1, 0, 4}, Tensor::Narrow{1, 3, 1},
        Tensor::Narrow{1, 0, -1}, Tensor::Narrow{1, huge, huge}, Tensor::Narrow{1, 1, huge}})
    expect_error([&] { (void)a.narrow(range); }, ErrorKind::value_error);
  for (const Dims& dims : {Dims{}, Dims{0}, Dims{0, 0}, Dims{0, 2}, Dims{0, 1, 2}})
    expect_error([&] { (void)a.permute(dims); }, ErrorKind::value_error);
  for (const Dims& shape : {Dims{5}, Dims{}, Dims{-2, -3}, Dims{0}})
    expect_error([&] { (void)a.view(shape); }, ErrorKind::value_error);
  expect_error([&] { (void)a.transpose(0, 1).view(Dims{6}); }, ErrorKind::value_error);
  EXPECT_NO_THROW((void)a.narrow({.dim = 1, .start = 3, .length = 0}));
}

// If this fails, a clone is not a value of its own, or copies before anybody writes.
TEST(Tensor, CloneSharesBytesUntilAWrite) {
  Tensor a = counted({2, 3});
  Tensor row = a.narrow({.dim = 0, .start = 1, .length = 1}).clone();
  EXPECT_NE(row.storage()->id(), a.storage()->id());
  EXPECT_EQ(row.data(), a.narrow({.dim = 0, .start = 1, .length = 1}).data());
  row.mutable_values<std::int32_t>()[0] = 99;
  EXPECT_EQ(elements(a)[3], 3);
  EXPECT_EQ(elements(row), (std::vector<std::int32_t>{99, 4, 5}));
  Tensor turned = a.transpose(0, 1).clone();
  EXPECT_TRUE(turned.is_contiguous());
  EXPECT_EQ(elements(turned), (std::vector<std::int32_t>{0, 3, 1, 4, 2, 5}));
}

// If this fails, a result is copied where it could be shared, or writes beside its target.
TEST(Tensor, AdoptSharesWholeStoragesAndCopiesIntoViews) {
  Tensor source = counted({2, 3});
  Tensor whole = zeros({2, 3}, DType::int32);
  StorageId id = whole.storage()->id();
  adopt_(whole, source);
  EXPECT_EQ(whole.data(), source.data());
  EXPECT_EQ(whole.storage()->id(), id);
  source.mutable_values<std::int32_t>()[0] = 50;
  EXPECT_EQ(elements(whole)[0], 0);

  Tensor base = zeros({3, 3}, DType::int32);
  Tensor part = base.narrow({.dim = 0, .start = 1, .length = 2});
  adopt_(part, counted({2, 3}));
  EXPECT_EQ(elements(base), (std::vector<std::int32_t>{0, 0, 0, 0, 1, 2, 3, 4, 5}));
  adopt_(whole, counted({3, 2}).transpose(0, 1));
  EXPECT_EQ(elements(whole), (std::vector<std::int32_t>{0, 2, 4, 1, 3, 5}));
}

// If this fails, elements of another shape or dtype are reinterpreted.
TEST(Tensor, CopiesNeedEqualShapeAndDType) {
  Tensor target = zeros({2, 3}, DType::int32);
  for (const Tensor& source : {zeros({3, 2}, DType::int32), zeros({2, 3}, DType::float32)}) {
    expect_error([&] { copy_(target, source); }, ErrorKind::value_error);
    expect_error([&] { adopt_(target, source); }, ErrorKind::value_error);
  }
  EXPECT_THROW(target.values<float>(), ContractViolation);
  expect_error([&] { target.transpose(0, 1).values<std::int32_t>(); }, ErrorKind::runtime_error,
               "expected a contiguous tensor");
  EXPECT_THROW(Tensor().values<float>(), ContractViolation);
}

// If this fails, is_contiguous differs from PyTorch's: unit and empty dims have free strides.
TEST(Tensor, ContiguityIgnoresUnitAndEmptyDims) {
  EXPECT_TRUE(zeros({1, 4}, DType::int32).transpose(0, 1).is_contiguous());
  EXPECT_TRUE(zeros({0, 4}, DType::int32).transpose(0, 1).is_contiguous());
  EXPECT_FALSE(zeros({2, 4}, DType::int32).transpose(0, 1).is_contiguous());
  EXPECT_FALSE(zeros({2, 4}, DType::int32).narrow({1, 0, 2}).is_contiguous());
  EXPECT_TRUE(zeros({2, 4}, DType::int32).narrow({0, 1, 1}).is_contiguous());
}

// If this fails, a comparison calls different bits equal, or equal NaNs different.
TEST(Tensor, SameBitsComparesBitsShapeAndDType) {
  Tensor nan = full({2}, DType::float32, NAN);
  EXPECT_TRUE(same_bits(nan, nan.clone()));
  EXPECT_FALSE(same_bits(full({1}, DType::float32, 0.0), full({1}, DType::float32, -0.0)));
  EXPECT_FALSE(same_bits(zeros({2}, DType::float32), zeros({2}, DType::int32)));
  EXPECT_FALSE(same_bits(zeros({2, 1}, DType::int32), zeros({1, 2}, DType::int32)));
  EXPECT_TRUE(same_bits(zeros({0, 3}, DType::int32), zeros({0, 3}, DType::int32)));
  Tensor turned = counted({2, 2}).transpose(0, 1);
  EXPECT_TRUE(same_bits(turned, turned.contiguous()));
}

// If this fails, a shape of too many bytes wraps around to a small allocation.
TEST(Tensor, ImpossibleSizesAreRefused) {
  expect_error([] { (void)empty({std::int64_t(1) << 61}, DType::float64); },
               ErrorKind::value_error);
  expect_error([] { (void)empty({-1}, DType::uint8); }, ErrorKind::value_error);
}

// If this fails, printed tensors look different in examples.
TEST(Tensor, TextShowsDTypeShapeAndElements) {
  EXPECT_EQ(to_string(tensor_of<float>({2, 2}, {1, 2, 3, 4.5f})), "float32[2, 2] {1, 2, 3, 4.5}");
  EXPECT_EQ(to_string(full({2}, DType::bfloat16, 0.5)), "bfloat16[2] {0.5, 0.5}");
  EXPECT_EQ(to_string(zeros({0}, DType::boolean)), "bool[0] {}");
  EXPECT_EQ(to_string(Tensor()), "undefined");
  EXPECT_NE(to_string(zeros({65}, DType::int32)).find(", ...}"), std::string::npos);
}

TEST(Tensor, SizeCountsFromTheEndAndRefusesADimThatIsNotThere) {
  Tensor x = zeros({2, 3}, DType::float32);
  EXPECT_EQ(x.size(-1), 3);
  EXPECT_EQ(x.size(-2), 2);
  for (std::int64_t dim : {2, -3, 100})
    testing::expect_error([&] { x.size(dim); }, ErrorKind::index_error,
                          "expected to be in range of [-2, 1], but got " + std::to_string(dim));
  EXPECT_THROW(zeros({}, DType::float32).size(0), Error);
}

}  // namespace
}  // namespace simmesh
