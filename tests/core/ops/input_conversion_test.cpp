#include "core/ops/input_conversion.h"

#include <gtest/gtest.h>
#include <optional>

#include "core/engine/world.h"
#include "core/ops/matrices/products.h"
#include "core/tensor/convert.h"

namespace simmesh {
namespace {

InputConversion::Convert to_float64() {
  return [](const Op& op, gsl::span<const Tensor> given) {
    std::vector<Tensor> result;
    if (op.name != "mm") return result;
    for (const Tensor& tensor : given) result.push_back(converted(tensor, DType::float64));
    return result;
  };
}

// If this fails, a scope converts inputs of ops that it leaves alone, or after its end.
TEST(InputConversion, ConvertsInTheInnermostScopeAlone) {
  Tensor x = full({2, 2}, DType::float32, 1.0);
  {
    InputConversion scope(to_float64());
    EXPECT_EQ(mm(x, x).dtype(), DType::float64);
    EXPECT_EQ(mv(x, full({2}, DType::float32, 1.0)).dtype(), DType::float32);
    InputConversion none(nullptr);
    EXPECT_EQ(mm(x, x).dtype(), DType::float32);
  }
  EXPECT_EQ(mm(x, x).dtype(), DType::float32);
}

// If this fails, a scope of one rank converts another rank's inputs.
TEST(InputConversion, IsTheRanksOwn) {
  World world({.ranks = 2});
  world.run([](Rank& rank) {
    Tensor x = full({2, 2}, DType::float32, 1.0);
    std::optional<InputConversion> scope;
    if (rank.id() == 0) scope.emplace(to_float64());
    rank.yield();
    EXPECT_EQ(mm(x, x).dtype(), rank.id() == 0 ? DType::float64 : DType::float32);
    rank.yield();
  });
}

}  // namespace
}  // namespace simmesh
