#include "zero/engine/estimate.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/nn/linear.h"

namespace simmesh::zero {
namespace {

// The published figures of a model of 2,851 million parameters on 8 devices.
TEST(ZeroEstimate, GivesThePublishedFigures) {
  EstimateOptions options{.total_params = 2'851'000'000,
                          .largest_layer_params = 32'000'000,
                          .gpus_per_node = 8,
                          .zero_init = true};
  MemoryEstimate both = estimate_zero3_model_states_mem_needs(options);
  EXPECT_EQ(both.device_bytes, 128'000'000);   // 0.12 GiB
  EXPECT_EQ(both.host_bytes, 76'977'000'000);  // 71.7 GiB
  options.offload_params = false;
  EXPECT_EQ(estimate_zero3_model_states_mem_needs(options).device_bytes, 840'750'000);  // 0.78 GiB
}

TEST(ZeroEstimate, CountsAModelOnce) {
  nn::Linear model({3, 4, true, {}});
  EstimateOptions options = count_parameters(model, {.gpus_per_node = 2});
  EXPECT_EQ(options.total_params, 16);
  EXPECT_EQ(options.largest_layer_params, 16);
  EXPECT_EQ(options.gpus_per_node, 2);
}

TEST(ZeroEstimate, RefusesNoDevices) {
  EXPECT_THROW(estimate_zero2_model_states_mem_needs({.gpus_per_node = 0}), Error);
}

}  // namespace
}  // namespace simmesh::zero
