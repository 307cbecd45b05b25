#include "replay/run/program_storages.h"

#include <algorithm>

#include "core/check/error.h"
#include "replay/run/element_type.h"
#include "replay/run/operator_work.h"

namespace simmesh::replay {

ProgramStorages::ProgramStorages(const ExecutionTrace& trace, RankProgram& program)
    : trace_(trace), program_(program), device_(device_of(trace)) {}

void ProgramStorages::begin_node(const TraceNode& node) {
  node_ = node.id;
  ++nodes_;
}

void ProgramStorages::require_sizes(const TraceTensor& tensor) const {
  constexpr std::int64_t elements_max = std::int64_t(1) << 44, item_bytes_max = 1 << 16;
  auto fits = [](std::int64_t value, std::int64_t max) { return value >= 0 && value <= max; };
  if (!fits(tensor.elements, elements_max) || !fits(tensor.offset, elements_max) ||
      !fits(tensor.item_bytes, item_bytes_max))
    raise(ErrorKind::value_error, "replay/make_program",
          "{}: node {}: expected a tensor of up to {} elements of up to {} bytes, got {} elements "
          "of {} bytes from element {} on",
          program_.file, node_, elements_max, item_bytes_max, tensor.elements, tensor.item_bytes,
          tensor.offset);
}

// Returns the index of the storage that an id stands for here; a new one for an unknown id, or for
// other memory.
std::uint32_t ProgramStorages::index_of(const TraceTensor& tensor, bool is_input,
                                        bool communicates) {
  require_sizes(tensor);
  Memory& memory = memories_[{tensor.storage, tensor.device}];
  std::int64_t end = std::max(end_bytes(trace_, tensor), end_bytes(trace_, tensor, false));
  bool is_new = memory.reuse.is_new_memory(tensor, end, is_input, nodes_);
  if (is_new || !memory.index) {
    std::uint32_t generation = memory.index ? program_.storages[*memory.index].generation + 1 : 0;
    memory.index = std::uint32_t(program_.storages.size());
    program_.storages.push_back({.id = tensor.storage,
                                 .generation = generation,
                                 .is_on_device = trace_.text(tensor.device).starts_with(device_),
                                 .is_leaf = is_input || communicates});
  }
  ProgramStorage& storage = program_.storages[*memory.index];
  storage.bytes = std::max(storage.bytes, end);
  storage.communicates |= communicates;
  used_.push_back(*memory.index);
  return *memory.index;
}

void ProgramStorages::touch(const TraceTensor& tensor, bool is_input) {
  index_of(tensor, is_input, false);
}

ProgramTensor ProgramStorages::view_of(const TraceTensor& tensor, bool is_input) {
  ElementType type = element_type(trace_.text(tensor.type), tensor.item_bytes);
  return {.storage = index_of(tensor, is_input, true),
          .begin_bytes = tensor.offset * tensor.item_bytes,
          .elements = tensor.elements * type.per_element,
          .dtype = type.dtype};
}

ProgramTensor ProgramStorages::scratch(std::int64_t elements, DType dtype) {
  std::uint32_t index = std::uint32_t(program_.storages.size());
  program_.storages.push_back({.bytes = elements * std::int64_t(bytes_per_element(dtype)),
                               .is_on_device = true,
                               .communicates = true});
  used_.push_back(index);
  return {.storage = index, .elements = elements, .dtype = dtype};
}

TraceRange ProgramStorages::use(std::uint32_t step) {
  std::sort(used_.begin(), used_.end());
  used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
  TraceRange range{std::uint32_t(program_.indices.size()), 0};
  program_.indices.insert(program_.indices.end(), used_.begin(), used_.end());
  range.end = std::uint32_t(program_.indices.size());
  for (std::uint32_t index : used_) program_.storages[index].last_step = step;
  used_.clear();
  return range;
}

}  // namespace simmesh::replay
