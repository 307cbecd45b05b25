#include "replay/validate/check_tensors.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "core/check/join_text.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

using Numbers = gsl::span<const std::int64_t>;

// Returns the product of the sizes; nullopt where 64 bits don't hold it.
std::optional<std::int64_t> numel(Numbers shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t product = 1;
  for (std::int64_t size : shape)
    if (__builtin_mul_overflow(product, size, &product)) return std::nullopt;
  return product;
}

// Returns the elements between the storage's begin and the view's end; nullopt where 64 bits don't
// hold their bytes.
std::optional<std::int64_t> end_elements(const ExecutionTrace& trace, const TraceTensor& tensor) {
  std::int64_t end = tensor.offset, bytes = 0;
  bool fails = false;
  if (tensor.strides && tensor.elements > 0) {
    Numbers shape = trace.numbers_in(tensor.shape), strides = trace.numbers_in(*tensor.strides);
    for (std::size_t dim = 0; dim < std::min(shape.size(), strides.size()); ++dim) {
      std::int64_t reach = 0;
      fails |= __builtin_mul_overflow(shape[dim] - 1, strides[dim], &reach);
      fails |= __builtin_add_overflow(end, reach, &end);
    }
    fails |= __builtin_add_overflow(end, 1, &end);
  } else {
    fails |= __builtin_add_overflow(end, tensor.elements, &end);
  }
  fails |= __builtin_mul_overflow(end, tensor.item_bytes, &bytes);
  return fails ? std::nullopt : std::optional(end);
}

// Returns the bytes of an element of a dtype, by the word inside "Tensor(...)"; 0 for unknown
// names.
std::int64_t dtype_bytes(std::string_view type) {
  if (type.starts_with("c10::")) type.remove_prefix(5);
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 21> sizes = {{
      {"float", 4},
      {"double", 8},
      {"long int", 8},
      {"long", 8},
      {"int", 4},
      {"short int", 2},
      {"short", 2},
      {"unsigned char", 1},
      {"signed char", 1},
      {"char", 1},
      {"bool", 1},
      {"Half", 2},
      {"BFloat16", 2},
      {"Float8_e4m3fn", 1},
      {"Float8_e5m2", 1},
      {"Float8_e4m3fnuz", 1},
      {"Float8_e5m2fnuz", 1},
      {"complex<Half>", 4},
      {"complex<c10::Half>", 4},
      {"complex<float>", 8},
      {"complex<double>", 16},
  }};
  for (auto [name, bytes] : sizes)
    if (name == type) return bytes;
  return 0;
}

class TensorCheck {
 public:
  TensorCheck(const RankTrace& rank, Findings& findings)
      : rank_(rank), trace_(rank.trace), findings_(findings) {}

  void check() {
    for (const TraceNode& node : trace_.nodes) {
      check_side(node, node.inputs, "inputs");
      check_side(node, node.outputs, "outputs");
    }
  }

 private:
  void check_side(const TraceNode& node, TraceRange range, std::string_view field) {
    FindingPlace place{.rank = rank_.rank, .node = node.id, .field = field};
    for (const TraceTensor& tensor : trace_.tensors_in(range)) {
      // The reader has reported negative figures.
      if (!tensor.is_defined || tensor.elements < 0 || tensor.item_bytes < 0) continue;
      check_shape(tensor, place);
      check_type(tensor, place);
      check_bounds(tensor, place);
    }
  }

  void check_shape(const TraceTensor& tensor, const FindingPlace& place) {
    Numbers shape = trace_.numbers_in(tensor.shape);
    if (shape.empty() && tensor.elements != 1) {
      findings_.push_back(warning_at("shape_missing", place,
                                     fmt::format("tensor {}: no shape is recorded for its {} "
                                                 "elements",
                                                 tensor.tensor, tensor.elements)));
      return;
    }
    if (auto count = numel(shape); count != tensor.elements)
      report(
          "numel", place, tensor,
          fmt::format("the shape [{}] has {} elements, the tuple says {}", join_text(shape, ", "),
                      count ? fmt::format("{}", *count) : "too many", tensor.elements));
    if (!tensor.strides) return;
    Numbers strides = trace_.numbers_in(*tensor.strides);
    // Layouts without strides, such as sparse ones, have an empty list.
    if (!strides.empty() && strides.size() != shape.size())
      report("strides", place, tensor,
             fmt::format("expected a stride for each of {} dims, got [{}]", shape.size(),
                         join_text(strides, ", ")));
  }

  void check_type(const TraceTensor& tensor, const FindingPlace& place) {
    std::int64_t bytes = dtype_bytes(trace_.text(tensor.type));
    if (bytes == 0 || bytes == tensor.item_bytes) return;
    report("item_size", place, tensor,
           fmt::format("an element of {} has {} bytes, the tuple says {}", trace_.text(tensor.type),
                       bytes, tensor.item_bytes));
  }

  void check_bounds(const TraceTensor& tensor, const FindingPlace& place) {
    bool is_backward = false;
    if (tensor.strides)
      for (std::int64_t stride : trace_.numbers_in(*tensor.strides)) is_backward |= stride < 0;
    if (tensor.offset < 0 || is_backward)
      report("view_bounds", place, tensor,
             fmt::format("expected a view inside of its storage, got offset {}{}", tensor.offset,
                         is_backward ? " and negative strides" : ""));
    else if (!end_elements(trace_, tensor))
      report("view_bounds", place, tensor,
             fmt::format("the view of {} elements at offset {} ends beyond 2^63 bytes",
                         tensor.elements, tensor.offset));
  }

  void report(std::string_view rule, const FindingPlace& place, const TraceTensor& tensor,
              const std::string& message) {
    findings_.push_back(
        error_at(rule, place, fmt::format("tensor {}: {}", tensor.tensor, message)));
  }

  const RankTrace& rank_;
  const ExecutionTrace& trace_;
  Findings& findings_;
};

}  // namespace

void check_tensors(const RankTrace& rank, Findings& findings) {
  TensorCheck(rank, findings).check();
}

}  // namespace simmesh::replay
