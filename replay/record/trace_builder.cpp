#include "replay/record/trace_builder.h"

#include "replay/record/dtype_words.h"

namespace simmesh::replay {

TraceBuilder::TraceBuilder(std::string device) : device_(std::move(device)) {
  trace_.schema = {.text = "1.1.1-chakra.0.0.4", .major = 1, .minor = 1, .patch = 1};
  trace_.has_strides = true;
  append("[pytorch|profiler|execution_trace|process]", 1).scope = user_scope;
}

TraceNode& TraceBuilder::append(std::string_view name, std::int64_t parent) {
  TraceNode& node = trace_.nodes.emplace_back();
  node.id = next_id();
  node.parent = parent;
  node.name = text(name);
  return node;
}

std::uint32_t TraceBuilder::add(std::string_view name, TraceThread thread) {
  std::vector<std::uint32_t>& open = open_nodes(thread);
  if (open.empty()) {
    TraceNode& root = append("[pytorch|profiler|execution_trace|thread]", 1);
    root.thread = std::int64_t(thread);
    root.scope = user_scope;
    open.push_back(std::uint32_t(trace_.nodes.size() - 1));
  }
  TraceNode& node = append(name, trace_.nodes[open.back()].id);
  node.thread = std::int64_t(thread);
  node.record_function = next_record_function_++;
  return std::uint32_t(trace_.nodes.size() - 1);
}

std::uint32_t TraceBuilder::open(std::string_view name, TraceThread thread) {
  std::uint32_t index = add(name, thread);
  open_nodes(thread).push_back(index);
  return index;
}

void TraceBuilder::close(TraceThread thread) { open_nodes(thread).pop_back(); }

TraceRange TraceBuilder::numbers(DimSpan numbers) {
  TraceRange range{.begin = std::uint32_t(trace_.numbers.size())};
  trace_.numbers.insert(trace_.numbers.end(), numbers.begin(), numbers.end());
  range.end = std::uint32_t(trace_.numbers.size());
  return range;
}

TraceTensor TraceBuilder::describe(const Tensor& tensor, const Shape& shape,
                                   const Strides& strides) {
  TraceTensor described{.elements = tensor.numel(),
                        .item_bytes = std::int64_t(bytes_per_element(tensor.dtype())),
                        .type = text(type_word(tensor.dtype())),
                        .shape = numbers(shape),
                        .strides = numbers(strides)};
  if (!tensor.storage()) {
    described.tensor = next_id();
    described.is_defined = false;
    return described;
  }
  described.offset = tensor.storage_offset();
  described.device = text(tensor.is_meta() ? std::string_view("meta") : device_);
  auto storage = storages_.find(tensor.storage()->id());
  if (storage == storages_.end()) {
    described.tensor = next_id();
    described.storage = next_id();
    storages_.emplace(tensor.storage()->id(), described.storage);
    views_[{described.storage, described.offset, tensor.dtype(), shape, strides}] =
        described.tensor;
    return described;
  }
  described.storage = storage->second;
  std::int64_t& known =
      views_[{described.storage, described.offset, tensor.dtype(), shape, strides}];
  if (known == 0) known = next_id();
  described.tensor = known;
  return described;
}

TraceRange TraceBuilder::tensors(gsl::span<const Tensor> tensors) {
  TraceRange range{.begin = std::uint32_t(trace_.tensors.size())};
  for (const Tensor& tensor : tensors) {
    if (!tensor.is_defined()) continue;
    Strides strides =
        tensor.storage() ? tensor.strides() : contiguous_strides(DimSpan(tensor.shape()));
    trace_.tensors.push_back(describe(tensor, tensor.shape(), strides));
  }
  range.end = std::uint32_t(trace_.tensors.size());
  return range;
}

TraceRange TraceBuilder::flat(gsl::span<const Tensor> tensors) {
  TraceRange range{.begin = std::uint32_t(trace_.tensors.size())};
  for (const Tensor& tensor : tensors)
    trace_.tensors.push_back(describe(tensor, Shape{tensor.numel()}, Strides{1}));
  range.end = std::uint32_t(trace_.tensors.size());
  return range;
}

TraceRange TraceBuilder::promised(DType dtype, const Shape& shape, std::size_t count) {
  TraceRange range{.begin = std::uint32_t(trace_.tensors.size())};
  for (std::size_t i = 0; i < count; ++i) {
    TraceTensor described{.tensor = next_id(),
                          .storage = next_id(),
                          .elements = numel(DimSpan(shape)),
                          .item_bytes = std::int64_t(bytes_per_element(dtype)),
                          .device = text(device_),
                          .type = text(type_word(dtype)),
                          .shape = numbers(shape),
                          .strides = numbers(contiguous_strides(DimSpan(shape)))};
    trace_.tensors.push_back(described);
  }
  range.end = std::uint32_t(trace_.tensors.size());
  return range;
}

void TraceBuilder::bind(TraceRange promised, gsl::span<const Tensor> tensors) {
  for (std::size_t i = 0; i < promised.size() && i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (!tensor.is_defined() || !tensor.storage()) continue;
    const TraceTensor& described = trace_.tensors[promised.begin + i];
    // A result that is a view of a known storage keeps that one.
    if (!storages_.emplace(tensor.storage()->id(), described.storage).second) continue;
    views_[{described.storage, tensor.storage_offset(), tensor.dtype(), tensor.shape(),
            tensor.strides()}] = described.tensor;
  }
}

TraceArgument TraceBuilder::argument(std::uint32_t position, std::string_view type,
                                     std::string_view json) {
  return {.position = position, .type = text(type), .value = text(json)};
}

}  // namespace simmesh::replay
