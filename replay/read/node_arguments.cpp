#include "replay/read/node_arguments.h"

#include <array>
#include <fmt/format.h>
#include <utility>

namespace simmesh::replay {

namespace dom = simdjson::dom;

namespace {

constexpr std::string_view tensor_type = "Tensor(";

// inside returns the text between a prefix and the last character: "float" for "Tensor(float)".
std::string_view inside(std::string_view type, std::string_view prefix) {
  if (!type.starts_with(prefix) || type.size() <= prefix.size()) return {};
  return type.substr(prefix.size(), type.size() - prefix.size() - 1);
}

// ParallelList walks through a list that may be missing, or shorter than its neighbours.
class ParallelList {
 public:
  explicit ParallelList(const std::optional<dom::element>& list) {
    if (!list || !list->is_array()) return;
    dom::array entries = list->get_array();
    at_ = entries.begin();
    end_ = entries.end();
  }

  std::optional<dom::element> take() {
    if (!(at_ != end_)) return std::nullopt;
    dom::element entry = *at_;
    ++at_;
    return entry;
  }

 private:
  dom::array::iterator at_;
  dom::array::iterator end_;
};

}  // namespace

bool add_integers(const dom::element& list, std::vector<std::int64_t>& numbers) {
  if (!list.is_array()) return false;
  std::size_t before = numbers.size();
  for (dom::element entry : list.get_array()) {
    std::int64_t number = 0;
    if (entry.get_int64().get(number) != simdjson::SUCCESS) {
      numbers.resize(before);
      return false;
    }
    numbers.push_back(number);
  }
  return true;
}

std::string_view next_type(std::string_view& types) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    char byte = types[i];
    if (byte == '[' || byte == '(' || byte == '<') ++depth;
    if ((byte == ']' || byte == ')' || byte == '>') && depth > 0) --depth;
    if (byte != ',' || depth > 0) continue;
    std::string_view first = types.substr(0, i);
    types.remove_prefix(i + 1);
    return first;
  }
  return std::exchange(types, std::string_view{});
}

std::string_view c10_type(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> names = {{
      {"float", "Float"},
      {"double", "Double"},
      {"long int", "Long"},
      {"long", "Long"},
      {"int", "Int"},
      {"short int", "Short"},
      {"short", "Short"},
      {"unsigned char", "Byte"},
      {"signed char", "Char"},
      {"bool", "Bool"},
      {"c10::complex<float>", "ComplexFloat"},
      {"c10::complex<double>", "ComplexDouble"},
      {"c10::complex<c10::Half>", "ComplexHalf"},
      {"char", "Char"},
  }};
  for (auto [word, name] : names)
    if (word == type) return name;
  if (type.starts_with("c10::")) type.remove_prefix(5);
  return type;
}

TraceRange ArgumentReader::tensors(NodeArguments arguments) {
  TraceRange range{.begin = std::uint32_t(trace_.tensors.size())};
  for (auto* list : {&arguments.values, &arguments.shapes, &arguments.types, &arguments.strides})
    if (*list && !(*list)->is_array()) {
      report("io_lists", "expected lists of values, shapes and types, got something else");
      list->reset();
    }
  ParallelList values(arguments.values), shapes(arguments.shapes);
  ParallelList types(arguments.types), strides(arguments.strides);
  std::size_t counts[3] = {};
  while (true) {
    auto value = values.take(), shape = shapes.take(), type = types.take(), stride = strides.take();
    counts[0] += value.has_value();
    counts[1] += shape.has_value();
    counts[2] += type.has_value();
    if (!value && !shape && !type) break;
    if (!value || !type) continue;
    std::string_view type_text;
    if (type->get_string().get(type_text) == simdjson::SUCCESS)
      add({*value, shape, stride, type_text});
    else
      report("io_lists", "expected types as texts, got something else");
  }
  if (counts[0] != counts[1] || counts[0] != counts[2])
    report("io_lists", fmt::format("expected as many values as shapes and types, got {}, {} and {}",
                                   counts[0], counts[1], counts[2]));
  range.end = std::uint32_t(trace_.tensors.size());
  return range;
}

void ArgumentReader::add(const Argument& argument) {
  if (argument.type.starts_with(tensor_type)) return add_tensor(argument);
  std::string_view entries = inside(argument.type, "GenericList[");
  if (entries.data() == nullptr) entries = inside(argument.type, "Tuple[");
  if (entries.data() == nullptr || !argument.value.is_array()) return;
  if (entries.find(tensor_type) != std::string_view::npos) return add_list(argument, entries);
  if (!side_.keeps_lists || !entries.starts_with("Int")) return;
  TraceRange numbers{.begin = std::uint32_t(trace_.numbers.size())};
  if (!add_integers(argument.value, trace_.numbers)) return;
  numbers.end = std::uint32_t(trace_.numbers.size());
  trace_.ranges.push_back(numbers);
}

// A list that was cut when it was recorded may have one entry more than it has types.
void ArgumentReader::add_list(const Argument& argument, std::string_view entry_types) {
  ParallelList shapes(argument.shape), strides(argument.strides);
  for (dom::element entry : argument.value.get_array()) {
    std::string_view type = next_type(entry_types);
    auto shape = shapes.take(), stride = strides.take();
    add({entry, shape, stride, type});
  }
}

std::optional<TraceRange> ArgumentReader::dims(const std::optional<dom::element>& list) {
  if (!list) return std::nullopt;
  TraceRange range{.begin = std::uint32_t(trace_.numbers.size())};
  if (!add_integers(*list, trace_.numbers)) return std::nullopt;
  range.end = std::uint32_t(trace_.numbers.size());
  return range;
}

void ArgumentReader::add_tensor(const Argument& argument) {
  if (!argument.value.is_array())
    return report("tensor_tuple", "expected a tensor as a list, got something else");
  TraceTensor tensor;
  std::int64_t* const fields[] = {&tensor.tensor, &tensor.storage, &tensor.offset, &tensor.elements,
                                  &tensor.item_bytes};
  std::size_t count = 0;
  bool is_well_formed = true;
  bool has_device = false;
  constexpr std::int64_t large = std::int64_t(1) << 53;  // of the integers that a double holds
                                                         // exactly
  for (dom::element entry : argument.value.get_array()) {
    std::string_view device;
    if (count < std::size(fields)) {
      std::int64_t& field = *fields[count];
      is_well_formed &= entry.get_int64().get(field) == simdjson::SUCCESS;
      is_well_formed &= field >= 0 && field < large;
    } else if (count == std::size(fields)) {
      has_device = entry.get_string().get(device) == simdjson::SUCCESS;
      is_well_formed &= has_device;
      tensor.device = trace_.texts.id_of(device);
    }
    ++count;
  }
  is_well_formed &= count == 5 || count == 6;
  is_well_formed &= tensor.item_bytes <= 64;
  if (!is_well_formed)
    return report("tensor_tuple",
                  fmt::format("expected [tensor, storage, offset, elements, bytes an element, "
                              "device] of numbers from 0 on, got {}",
                              simdjson::minify(argument.value)));
  tensor.is_defined = tensor.storage != 0 && (!has_device || tensor.device != TextId{});
  tensor.type = trace_.texts.id_of(inside(argument.type, tensor_type));
  auto shape = dims(argument.shape);
  if (!shape && tensor.is_defined)
    return report("tensor_tuple", "expected the shape of a tensor as a list of sizes, got none");
  tensor.shape = shape.value_or(TraceRange{});
  tensor.strides = dims(argument.strides);
  trace_.tensors.push_back(tensor);
}

void ArgumentReader::report(std::string_view rule, std::string message) {
  trace_.findings.push_back({.severity = Severity::error,
                             .rule = std::string(rule),
                             .rank = std::nullopt,
                             .node = side_.node,
                             .field = std::string(side_.field),
                             .message = std::move(message)});
}

}  // namespace simmesh::replay
