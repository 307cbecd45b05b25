#include "replay/run/operator_work.h"

#include <algorithm>
#include <string_view>

namespace simmesh::replay {

namespace {

class OperatorSizes {
 public:
  OperatorSizes(const ExecutionTrace& trace, const TraceNode& node) : trace_(trace), node_(node) {
    for (const TraceTensor& tensor : trace.tensors_in(node.inputs))
      if (tensor.is_defined) inputs_.push_back(&tensor);
    for (const TraceTensor& tensor : trace.tensors_in(node.outputs))
      if (tensor.is_defined) outputs_.push_back(&tensor);
  }

  double operations() const;

 private:
  double elements_out() const {
    double sum = 0;
    for (const TraceTensor* tensor : outputs_) sum += double(tensor->elements);
    return sum;
  }
  // Returns the extent of a dim counted from the end; 1 where there is none.
  double size_from_end(const TraceTensor& tensor, std::size_t from_end) const {
    auto shape = trace_.numbers_in(tensor.shape);
    return from_end <= shape.size() ? double(shape[shape.size() - from_end]) : 1;
  }
  // Returns the number of terms of one output element of a convolution: the weight without its
  // first dim.
  double terms_of(const TraceTensor& weight) const {
    auto shape = trace_.numbers_in(weight.shape);
    return shape.empty() || shape[0] == 0 ? 0 : double(weight.elements) / double(shape[0]);
  }
  bool is_one_of(std::initializer_list<std::string_view> names) const {
    std::string_view name = trace_.text(node_.name);
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  const ExecutionTrace& trace_;
  const TraceNode& node_;
  std::vector<const TraceTensor*> inputs_, outputs_;
};

double OperatorSizes::operations() const {
  std::size_t count = inputs_.size();
  if (count >= 2 && is_one_of({"aten::mm", "aten::bmm", "aten::matmul"}))
    return 2 * double(inputs_[0]->elements) * size_from_end(*inputs_[1], 1);
  if (count >= 3 && is_one_of({"aten::addmm", "aten::baddbmm"}))
    return 2 * double(inputs_[1]->elements) * size_from_end(*inputs_[2], 1);
  if (count >= 2 && is_one_of({"aten::linear"}))
    return 2 * double(inputs_[0]->elements) * size_from_end(*inputs_[1], 2);
  if (count >= 2 && is_one_of({"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution",
                               "aten::_convolution", "aten::cudnn_convolution"}))
    return 2 * elements_out() * terms_of(*inputs_[1]);
  if (count >= 3 && is_one_of({"aten::convolution_backward"}))
    return 4 * double(inputs_[0]->elements) * terms_of(*inputs_[2]);
  if (count >= 3 &&
      is_one_of({"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention",
                 "aten::_scaled_dot_product_efficient_attention"}))
    return 4 * double(inputs_[0]->elements) * size_from_end(*inputs_[1], 2);
  return elements_out();
}

bool launches_nothing(const ExecutionTrace& trace, const TraceNode& node) {
  std::string_view name = trace.text(node.name), schema = trace.text(node.op_schema);
  if (name.starts_with("aten::empty") || name == "aten::resize_") return true;
  std::size_t arrow = schema.rfind("->");
  if (arrow == std::string_view::npos) return false;
  std::string_view results = schema.substr(arrow);
  if (results.find("Tensor(") == std::string_view::npos ||
      results.find('!') != std::string_view::npos)
    return false;
  auto inputs = trace.tensors_in(node.inputs), outputs = trace.tensors_in(node.outputs);
  return std::all_of(outputs.begin(), outputs.end(), [&](const TraceTensor& output) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const TraceTensor& input) { return input.storage == output.storage; });
  });
}

}  // namespace

KernelWork operator_work(const ExecutionTrace& trace, const TraceNode& node,
                         std::string_view device) {
  KernelWork work;
  if (launches_nothing(trace, node)) return work;
  bool is_on_device = false;
  for (TraceRange range : {node.inputs, node.outputs}) {
    for (const TraceTensor& tensor : trace.tensors_in(range)) {
      if (!tensor.is_defined || !trace.text(tensor.device).starts_with(device)) continue;
      is_on_device = true;
      work.device_bytes += double(tensor.elements) * double(tensor.item_bytes);
    }
  }
  if (is_on_device) work.operations = OperatorSizes(trace, node).operations();
  return work;
}

std::string_view device_of(const ExecutionTrace& trace) {
  for (const TraceTensor& tensor : trace.tensors) {
    std::string_view device = trace.text(tensor.device);
    if (tensor.is_defined && !device.empty() && device != "cpu")
      return device.substr(0, device.find(':'));
  }
  return "cpu";
}

}  // namespace simmesh::replay
