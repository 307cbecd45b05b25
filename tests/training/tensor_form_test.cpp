#include "training/tensor_form.h"

#include <gtest/gtest.h>

#include "core/nn/attention.h"
#include "core/nn/block.h"
#include "core/nn/containers.h"
#include "core/nn/dropout.h"
#include "core/nn/gated_mlp.h"
#include "core/nn/mlp.h"
#include "core/nn/normalization.h"

namespace simmesh {
namespace {

nn::ModulePtr one_block(bool is_gated) {
  nn::ModulePtr mlp = is_gated ? nn::ModulePtr(std::make_shared<nn::GatedMlp>(
                                     nn::GatedMlp::Options{.width = 4, .hidden = 8}))
                               : nn::make_mlp({.width = 4, .hidden = 8, .out = 4});
  auto norm = [] { return std::make_shared<nn::RMSNorm>(nn::RMSNorm::Options{.width = 4}); };
  auto attention = std::make_shared<nn::Attention>(nn::Attention::Options{.width = 4, .heads = 2});
  return std::make_shared<nn::Sequential>(std::vector<nn::NamedModule>{
      {"block", std::make_shared<nn::Block>(nn::Block::Children{norm(), attention, norm(), mlp})}});
}

std::vector<std::string> paths(const ParallelizePlan& plan) {
  std::vector<std::string> result;
  for (const auto& [path, style] : plan) result.push_back(path);
  return result;
}

using Paths = std::vector<std::string>;

// A layer is left out of the plan, and computes with a part of its input as if it were all.
TEST(TensorForm, PlansTheLayersOfBlocks) {
  EXPECT_EQ(paths(tensor_plan(*one_block(false), {})),
            (Paths{"block.attn.wq", "block.attn.wk", "block.attn.wv", "block.attn.wo",
                   "block.mlp.fc1", "block.mlp.fc2"}));
  EXPECT_EQ(paths(tensor_plan(*one_block(true), {})),
            (Paths{"block.attn.wq", "block.attn.wk", "block.attn.wv", "block.attn.wo",
                   "block.mlp.w1", "block.mlp.w3", "block.mlp.w2"}));
  EXPECT_EQ(paths(tensor_plan(*one_block(false), {.sequence_parallel = true})),
            (Paths{"block.norm1", "block.attn.wq", "block.attn.wk", "block.attn.wv", "block.attn",
                   "block.attn.wo", "block.norm2", "block.mlp.fc1", "block.mlp", "block.mlp.fc2"}));
}

// Dropout that doesn't know which part of a sequence it has draws other numbers than one device.
TEST(TensorForm, PlansDropoutOnCutSequences) {
  nn::Sequential model({{"drop", std::make_shared<nn::Dropout>(0.5)}});
  EXPECT_EQ(paths(tensor_plan(model, {})), Paths());
  EXPECT_EQ(paths(tensor_plan(model, {.sequence_parallel = true})), Paths{"drop"});
}

}  // namespace
}  // namespace simmesh
