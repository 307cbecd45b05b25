#include "core/nn/init.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/functions/default_generator.h"

namespace simmesh::nn {
namespace {

TEST(Init, DrawsWithinTheBoundsOfTheFans) {
  Tensor weight = empty({8, 6}, DType::float32);
  xavier_uniform_(weight, 1.0, {.seed = 3});
  // sqrt(6 / (6 + 8)) = 0.6547
  for (float x : weight.values<float>()) EXPECT_LE(std::abs(x), 0.6547);
  kaiming_uniform_(weight, 0.0, {.seed = 3});
  // sqrt(2) * sqrt(3 / 6) = 1
  for (float x : weight.values<float>()) EXPECT_LE(std::abs(x), 1.0);
  Tensor vector = empty({8}, DType::float32);
  EXPECT_THROW(kaiming_uniform_(vector, 0.0, {}), Error);
}

TEST(Init, DependsOnGeneratorAndElementAlone) {
  Tensor a = empty({8, 6}, DType::float32), b = empty({8, 6}, DType::float32);
  normal_(a, {.deviation = 2.0}, {.seed = 3, .stream = 1});
  normal_(b, {.deviation = 2.0}, {.seed = 3, .stream = 1});
  EXPECT_TRUE(same_bits(a, b));
  normal_(b, {.deviation = 2.0}, {.seed = 3, .stream = 2});
  EXPECT_FALSE(same_bits(a, b));
}

TEST(Init, LeavesTheMetaDeviceAlone) {
  Tensor meta = new_parameter(Dims{4, 4}, {.device = Device::meta});
  uniform_(meta, {}, {.seed = 1});
  constant_(meta, 1.0);
  EXPECT_TRUE(meta.is_meta());
}

TEST(DefaultGenerator, StartsAfreshFromASeed) {
  manual_seed(5);
  Generator first = default_generator().next();
  default_generator().next();
  manual_seed(5);
  EXPECT_EQ(default_generator().next().stream, first.stream);
}

}  // namespace
}  // namespace simmesh::nn
