#include "core/ops/kernel_work.h"

#include <gtest/gtest.h>

#include "core/ops/registry/registry.h"

namespace simmesh {
namespace {

// A product that counted as a pointwise op would make communication look exposed everywhere.
TEST(KernelWork, CountsTheTermsOfProducts) {
  std::vector<Tensor> inputs = {zeros({3, 5}, DType::float32), zeros({5, 7}, DType::float32)};
  std::vector<Tensor> outputs = {zeros({3, 7}, DType::float32)};
  EXPECT_EQ(floating_operations({.name = "mm"}, inputs, outputs), 2.0 * 3 * 5 * 7);
  EXPECT_EQ(floating_operations({.name = "add"}, inputs, outputs), 3.0 * 7);
  inputs.insert(inputs.begin(), zeros({7}, DType::float32));
  EXPECT_EQ(floating_operations({.name = "addmm"}, inputs, outputs), 2.0 * 3 * 5 * 7);
}

}  // namespace
}  // namespace simmesh
