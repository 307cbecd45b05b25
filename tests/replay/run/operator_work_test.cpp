#include "replay/run/operator_work.h"

#include <gtest/gtest.h>

namespace simmesh::replay {

namespace {

struct ShapedTensor {
  std::vector<std::int64_t> shape;
  std::int64_t storage;
  const char* device = "cuda:0";
};

TraceRange add_shaped(ExecutionTrace& trace, const std::vector<ShapedTensor>& tensors) {
  TraceRange range{std::uint32_t(trace.tensors.size()), 0};
  for (const ShapedTensor& tensor : tensors) {
    TraceRange shape{std::uint32_t(trace.numbers.size()), 0};
    std::int64_t elements = 1;
    for (std::int64_t size : tensor.shape) {
      trace.numbers.push_back(size);
      elements *= size;
    }
    shape.end = std::uint32_t(trace.numbers.size());
    trace.tensors.push_back({.storage = tensor.storage,
                             .elements = elements,
                             .item_bytes = 4,
                             .device = trace.texts.id_of(tensor.device),
                             .shape = shape});
  }
  range.end = std::uint32_t(trace.tensors.size());
  return range;
}

KernelWork work_of(const char* name, const char* results, const std::vector<ShapedTensor>& inputs,
                   const std::vector<ShapedTensor>& outputs, std::string_view device = "cuda") {
  ExecutionTrace trace;
  TraceNode node{.name = trace.texts.id_of(name),
                 .op_schema = trace.texts.id_of(std::string(name) + "(...) -> " + results)};
  node.inputs = add_shaped(trace, inputs);
  node.outputs = add_shaped(trace, outputs);
  return operator_work(trace, node, device);
}

// Would fail if products were priced as anything but 2 operations a term.
TEST(OperatorWork, CountsTheTermsOfProducts) {
  auto operations = [](const char* name, const std::vector<ShapedTensor>& inputs,
                       const std::vector<ShapedTensor>& outputs) {
    return work_of(name, "Tensor", inputs, outputs).operations;
  };
  EXPECT_EQ(operations("aten::mm", {{{3, 5}, 1}, {{5, 7}, 2}}, {{{3, 7}, 3}}), 2 * 3 * 5 * 7);
  EXPECT_EQ(operations("aten::addmm", {{{7}, 1}, {{3, 5}, 2}, {{5, 7}, 3}}, {{{3, 7}, 4}}),
            2 * 3 * 5 * 7);
  EXPECT_EQ(operations("aten::bmm", {{{2, 3, 5}, 1}, {{2, 5, 7}, 2}}, {{{2, 3, 7}, 3}}),
            2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(operations("aten::linear", {{{4, 3, 5}, 1}, {{7, 5}, 2}}, {{{4, 3, 7}, 3}}),
            2 * 4 * 3 * 5 * 7);
  EXPECT_EQ(operations("aten::conv2d", {{{2, 3, 8, 8}, 1}, {{4, 3, 5, 5}, 2}}, {{{2, 4, 4, 4}, 3}}),
            2 * (2 * 4 * 4 * 4) * (3 * 5 * 5));
  EXPECT_EQ(
      operations("aten::convolution_backward",
                 {{{2, 4, 4, 4}, 3}, {{2, 3, 8, 8}, 1}, {{4, 3, 5, 5}, 2}}, {{{2, 3, 8, 8}, 5}}),
      4 * (2 * 4 * 4 * 4) * (3 * 5 * 5));
  EXPECT_EQ(
      operations("aten::scaled_dot_product_attention",
                 {{{2, 3, 6, 8}, 1}, {{2, 3, 5, 8}, 2}, {{2, 3, 5, 8}, 3}}, {{{2, 3, 6, 8}, 4}}),
      4 * (2 * 3 * 6 * 8) * 5);
  EXPECT_EQ(operations("aten::relu", {{{3, 5}, 1}}, {{{3, 5}, 2}}), 15);
}

// Would fail if views, allocations or the host's work took time of the device.
TEST(OperatorWork, ViewsAndAllocationsDoNothing) {
  KernelWork copied = work_of("aten::clone", "Tensor", {{{6}, 1}}, {{{6}, 2}});
  EXPECT_EQ(copied.device_bytes, 48);
  EXPECT_EQ(work_of("aten::view", "Tensor(a)", {{{6}, 1}}, {{{2, 3}, 1}}).device_bytes, 0);
  EXPECT_EQ(work_of("aten::reshape", "Tensor(a)", {{{6}, 1}}, {{{2, 3}, 2}}).device_bytes, 48);
  EXPECT_EQ(work_of("aten::add_", "Tensor(a!)", {{{6}, 1}}, {{{6}, 1}}).device_bytes, 48);
  EXPECT_EQ(work_of("aten::empty_like", "Tensor", {{{6}, 1}}, {{{6}, 2}}).device_bytes, 0);
  KernelWork hosts = work_of("aten::add", "Tensor", {{{6}, 1, "cpu"}}, {{{6}, 2, "cpu"}});
  EXPECT_EQ(hosts.device_bytes, 0);
  EXPECT_EQ(hosts.operations, 0);
  KernelWork on_cpu = work_of("aten::add", "Tensor", {{{6}, 1, "cpu"}}, {{{6}, 2, "cpu"}}, "cpu");
  EXPECT_EQ(on_cpu.device_bytes, 48);
  EXPECT_EQ(on_cpu.operations, 6);
}

TEST(OperatorWork, DeviceIsTheOneBesideTheHost) {
  ExecutionTrace trace;
  EXPECT_EQ(device_of(trace), "cpu");
  add_shaped(trace, {{{1}, 1, "cpu"}});
  EXPECT_EQ(device_of(trace), "cpu");
  add_shaped(trace, {{{1}, 1, "cuda:3"}});
  EXPECT_EQ(device_of(trace), "cuda");
}

}  // namespace

}  // namespace simmesh::replay
