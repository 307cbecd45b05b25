#include "core/ops/neural/convolution.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/neural/pooling.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

Tensor small(const Shape& shape, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::small, .seed = seed, .dtype = DType::float64});
}

double element_at(const Tensor& x, std::initializer_list<std::int64_t> place) {
  std::int64_t offset = 0, dim = 0;
  for (std::int64_t i : place) offset += i * x.strides()[std::size_t(dim++)];
  return x.values<double>()[std::size_t(offset)];
}

// The sum over channel and kernel that defines a convolution. Small integers add up exactly.
double by_hand(const Tensor& x, const Tensor& weight, const Convolution& options,
               std::array<std::int64_t, 4> place) {
  auto [image, out, row, column] = place;
  std::int64_t channels = weight.size(1), group = out / (weight.size(0) / options.groups);
  double sum = 0;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t i = 0; i < weight.size(2); ++i)
      for (std::int64_t j = 0; j < weight.size(3); ++j) {
        std::int64_t r =
            row * options.stride.front() - options.padding.front() + i * options.dilation.front();
        std::int64_t s =
            column * options.stride.back() - options.padding.back() + j * options.dilation.back();
        if (r < 0 || s < 0 || r >= x.size(2) || s >= x.size(3)) continue;
        sum +=
            element_at(x, {image, group * channels + c, r, s}) * element_at(weight, {out, c, i, j});
      }
  return sum;
}

TEST(Convolution, EqualsItsDefinition) {
  for (const Convolution& options :
       {Convolution{}, Convolution{.stride = {2, 1}, .padding = {1, 2}},
        Convolution{.padding = {2, 0}, .dilation = {2, 1}}, Convolution{.groups = 2},
        Convolution{.stride = {3, 2}, .padding = {1}, .dilation = {1, 2}, .groups = 2}}) {
    Tensor x = small({2, 4, 6, 5}, 1), weight = small({6, 4 / options.groups, 3, 2}, 2);
    Tensor y = conv2d(x, weight, {}, options);
    for (std::int64_t n = 0; n < y.size(0); ++n)
      for (std::int64_t o = 0; o < y.size(1); ++o)
        for (std::int64_t r = 0; r < y.size(2); ++r)
          for (std::int64_t c = 0; c < y.size(3); ++c)
            EXPECT_EQ(element_at(y, {n, o, r, c}), by_hand(x, weight, options, {n, o, r, c}));
  }
}

TEST(Convolution, OfRowsWithBias) {
  Tensor x = tensor_of<float>({1, 1, 4}, {1, 2, 3, 4});
  Tensor weight = tensor_of<float>({1, 1, 2}, {1, 10}), bias = tensor_of<float>({1}, {0.5});
  EXPECT_EQ(to_string(conv1d(x, weight, bias)), "float32[1, 1, 3] {21.5, 32.5, 43.5}");
  EXPECT_EQ(to_string(conv1d(x, weight, {}, {.stride = {2}, .padding = {1}})),
            "float32[1, 1, 3] {10, 32, 4}");
  EXPECT_EQ(to_string(conv1d(select(x, 0, 0), weight)), "float32[1, 3] {21, 32, 43}");
}

// A volume whose kernel has one layer is convolved layer by layer. If this fails, layers are mixed.
TEST(Convolution, OfVolumes) {
  Tensor x = small({2, 2, 3, 4, 4}, 1), weight = small({2, 2, 1, 2, 2}, 2);
  Tensor y = conv3d(x, weight, {}, {.stride = {1, 2, 1}, .padding = {0, 1, 1}});
  for (std::int64_t layer = 0; layer < 3; ++layer)
    EXPECT_EQ(to_string(select(y, 2, layer)),
              to_string(conv2d(select(x, 2, layer), select(weight, 2, 0), {},
                               {.stride = {2, 1}, .padding = {1, 1}})));
  Tensor line = tensor_of<double>({1, 1, 4, 1, 1}, {1, 2, 3, 4});
  EXPECT_EQ(to_string(conv3d(line, tensor_of<double>({1, 1, 2, 1, 1}, {1, 10}), {},
                             {.stride = {2, 1, 1}, .padding = {1, 0, 0}})),
            "float64[1, 1, 3, 1, 1] {10, 32, 4}");
  EXPECT_EQ(to_string(conv3d(select(line, 0, 0), tensor_of<double>({1, 1, 1, 1, 1}, {2})).shape()),
            "[1, 4, 1, 1]");
}

TEST(Convolution, WrongSizesAreRefused) {
  Tensor x = small({1, 2, 3, 3}, 1);
  EXPECT_THROW(conv2d(x, small({2, 3, 1, 1}, 1)), Error);
  EXPECT_THROW(conv2d(x, small({2, 2, 4, 1}, 1)), Error);
  EXPECT_THROW(conv2d(x, small({2, 2, 1, 1}, 1), small({3}, 1)), Error);
  EXPECT_THROW(conv2d(x, small({3, 1, 1, 1}, 1), {}, {.groups = 2}), Error);
  EXPECT_THROW(conv2d(x, small({2, 2, 1, 1}, 1), {}, {.stride = {0, 1}}), Error);
  EXPECT_THROW(conv2d(x, converted(small({2, 2, 1, 1}, 1), DType::float32)), Error);
  EXPECT_THROW(conv3d(x, small({2, 2, 1, 1}, 1)), Error);
  EXPECT_THROW(conv2d(x, small({2, 2, 1, 1}, 1), {}, {.stride = {1, 1, 1}}), Error);
}

}  // namespace
}  // namespace simmesh
