#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"
#include "pipeline/chunks/join.h"
#include "pipeline/chunks/split.h"
#include "tests/expect_error.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;

std::vector<std::int64_t> sizes_of(const StepArguments& arguments, std::int64_t chunks,
                                   std::int64_t dim = 0) {
  std::vector<std::int64_t> sizes;
  for (const MicrobatchArguments& microbatch : split_into_chunks(arguments, chunks))
    sizes.push_back(std::get<Tensor>(microbatch.args.at(0)).size(dim));
  return sizes;
}

StepArguments one(Tensor tensor) { return {.args = {StepArgument::of(std::move(tensor))}}; }

// If this fails, micro-batches have other sizes than PyTorch's.
TEST(PipelineSplit, GivesTheFirstChunksOneMore) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(sizes_of(one(zeros({7, 2}, DType::float32)), 3), (Sizes{3, 2, 2}));
  EXPECT_EQ(sizes_of(one(zeros({2}, DType::float32)), 4), (Sizes{1, 1}));
  StepArguments along_1{.args = {{zeros({2, 5}, DType::float32), 1}}};
  EXPECT_EQ(sizes_of(along_1, 2, 1), (Sizes{3, 2}));
  StepArguments last{.args = {{zeros({2, 5}, DType::float32), -1}}};
  EXPECT_EQ(sizes_of(last, 2, 1), (Sizes{3, 2}));
}

// If this fails, a mask or a number is cut, or one argument has more chunks than another.
TEST(PipelineSplit, ReplicatesWhatHasNoDimAndTakesTheFewestChunks) {
  StepArguments arguments = one(zeros({6}, DType::float32));
  arguments.args.push_back(StepArgument::replicated(zeros({3}, DType::float32)));
  arguments.kwargs.emplace("scale", StepArgument::of(std::int64_t(7)));
  arguments.kwargs.emplace("x", StepArgument::of(zeros({2}, DType::float32)));
  std::vector<MicrobatchArguments> chunks = split_into_chunks(arguments, 3);
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(std::get<Tensor>(chunks[1].args[0]).size(0), 3);
  EXPECT_EQ(std::get<Tensor>(chunks[1].args[1]).size(0), 3);
  EXPECT_EQ(std::get<std::int64_t>(chunks[1].kwargs.at("scale")), 7);
}

TEST(PipelineSplit, RefusesWhatCantBeCut) {
  expect_error(
      [] {
        split_into_chunks({.args = {{std::int64_t(1), 0}}}, 2);
      },
      ErrorKind::value_error, "Unsupported chunk spec");
  expect_error(
      [] {
        split_into_chunks({.args = {{zeros({2}, DType::float32), 1}}}, 2);
      },
      ErrorKind::index_error, "");
  expect_error([] { split_into_chunks(one(zeros({0}, DType::float32)), 2); },
               ErrorKind::runtime_error, "at least one chunk");
}

// If this fails, gradients of micro-batches don't reach the caller's batch.
TEST(PipelineSplit, LetsGradientsReachTheWholeTensor) {
  Tensor batch = zeros({4}, DType::float32);
  set_requires_grad(batch);
  std::vector<MicrobatchArguments> chunks = split_into_chunks(one(batch), 2);
  backward(sum(mul(std::get<Tensor>(chunks[1].args[0]), 3.0)));
  Tensor grad = grad_of(batch);
  EXPECT_EQ(grad.values<float>()[1], 0.0F);
  EXPECT_EQ(grad.values<float>()[2], 3.0F);
}

// If this fails, outputs of micro-batches are joined in another order or along another dim.
TEST(PipelineJoin, ConcatenatesOrReduces) {
  std::vector<Tensor> parts = {full({1, 2}, DType::int64, 1), full({2, 2}, DType::int64, 5)};
  Tensor joined = join_chunks(parts);
  EXPECT_EQ(joined.shape(), (Shape{3, 2}));
  EXPECT_EQ(joined.values<std::int64_t>()[2], 5);
  Tensor total = reduce_chunks(parts, zeros({}, DType::int64),
                               [](const Tensor& a, const Tensor& b) { return add(a, sum(b)); });
  EXPECT_EQ(total.values<std::int64_t>()[0], 22);
  expect_error([&] { join_chunks(parts, 2); }, ErrorKind::index_error, "");
  expect_error([&] { join_chunks(parts, 1); }, ErrorKind::runtime_error, "");
  expect_error([] { join_chunks({}); }, ErrorKind::value_error, "at least one output");
}

}  // namespace
}  // namespace simmesh::pipeline
