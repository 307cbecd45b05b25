#include "replay/chakra/old_chakra.h"

#include <array>
#include <cstring>
#include <utility>

namespace simmesh::replay {

namespace {

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// WireField is one field of a message, as its bytes tell it without a schema.
struct WireField {
  std::uint32_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t value = 0;  // of a varint or a fixed number
  std::string_view bytes;
};
using WireFields = std::vector<WireField>;

std::optional<std::uint64_t> take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    auto byte = std::uint8_t(rest.front());
    rest.remove_prefix(1);
    value |= std::uint64_t(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

bool take_fixed(std::string_view& rest, std::size_t size, WireField& field) {
  if (rest.size() < size) return false;
  for (std::size_t i = 0; i < size; ++i)
    field.value |= std::uint64_t(std::uint8_t(rest[i])) << (8 * i);
  rest.remove_prefix(size);
  return true;
}

std::optional<WireFields> wire_fields(std::string_view message) {
  WireFields fields;
  while (!message.empty()) {
    std::optional<std::uint64_t> tag = take_varint(message);
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return std::nullopt;
    WireField field{.number = std::uint32_t(*tag >> 3), .wire = Wire(*tag & 7)};
    std::optional<std::uint64_t> value;
    switch (field.wire) {
      case Wire::varint:
        value = take_varint(message);
        if (!value) return std::nullopt;
        field.value = *value;
        break;
      case Wire::fixed64:
        if (!take_fixed(message, 8, field)) return std::nullopt;
        break;
      case Wire::fixed32:
        if (!take_fixed(message, 4, field)) return std::nullopt;
        break;
      case Wire::bytes:
        value = take_varint(message);
        if (!value || *value > message.size()) return std::nullopt;
        field.bytes = message.substr(0, *value);
        message.remove_prefix(*value);
        break;
      default: return std::nullopt;
    }
    fields.push_back(field);
  }
  return fields;
}

// A list of numbers is packed into bytes, or each has a field of its own.
void add_numbers(const WireField& field, std::vector<std::uint64_t>& numbers) {
  if (field.wire != Wire::bytes) return numbers.push_back(field.value);
  std::string_view rest = field.bytes;
  while (!rest.empty()) {
    std::optional<std::uint64_t> number = take_varint(rest);
    if (!number) return;
    numbers.push_back(*number);
  }
}

double float_of(const WireField& field) {
  auto bits = std::uint32_t(field.value);
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return double(value);
}

enum class OldKind : std::uint8_t { boolean, floating, unsigned_integer, integer, text };

// OldType is a kind of attributes, or of lists of them. The number of a type, and 4 more, is that
// of the field which has the value.
struct OldType {
  OldKind kind;
  bool is_list = false;
};

std::vector<OldType> types_of(ChakraLayout layout) {
  std::vector<OldType> types;
  for (bool is_list : {false, true})
    for (OldKind kind : {OldKind::boolean, OldKind::floating, OldKind::unsigned_integer,
                         OldKind::integer, OldKind::text}) {
      if (kind == OldKind::boolean && layout == ChakraLayout::june_2023) continue;
      if (kind == OldKind::unsigned_integer && layout != ChakraLayout::aug_2023) continue;
      types.push_back({kind, is_list});
    }
  return types;
}

template <class Value, class Read>
ChakraValue listed(const WireFields& fields, bool is_list, Read read) {
  std::vector<Value> values;
  for (const WireField& field : fields) read(field, values);
  if (is_list) return values;
  if (values.empty()) return std::monostate();
  return Value(values.back());
}

ChakraValue value_of_fields(const WireFields& fields, OldType type) {
  auto add_all = [](const WireField& field, auto& values) {
    std::vector<std::uint64_t> numbers;
    add_numbers(field, numbers);
    for (std::uint64_t number : numbers)
      values.push_back(typename std::decay_t<decltype(values)>::value_type(number));
  };
  switch (type.kind) {
    case OldKind::boolean: return listed<bool>(fields, type.is_list, add_all);
    case OldKind::unsigned_integer: return listed<std::uint64_t>(fields, type.is_list, add_all);
    case OldKind::integer: return listed<std::int64_t>(fields, type.is_list, add_all);
    case OldKind::floating:
      return listed<double>(fields, type.is_list, [](const WireField& field, auto& values) {
        values.push_back(float_of(field));
      });
    case OldKind::text:
      return listed<std::string>(fields, type.is_list, [](const WireField& field, auto& values) {
        values.emplace_back(field.bytes);
      });
  }
  return std::monostate();
}

// The collectives had other numbers: all-reduce, all-to-all, all-gather, reduce-scatter, broadcast.
ChakraValue current_comm_type(const ChakraValue& old) {
  constexpr std::array<ChakraCommType, 5> types = {
      ChakraCommType::all_reduce, ChakraCommType::all_to_all, ChakraCommType::all_gather,
      ChakraCommType::reduce_scatter, ChakraCommType::broadcast};
  std::uint64_t number = types.size();
  if (const auto* integer = std::get_if<std::int64_t>(&old)) number = std::uint64_t(*integer);
  if (const auto* integer = std::get_if<std::uint64_t>(&old)) number = *integer;
  return number < types.size() ? ChakraValue(std::int64_t(types[number])) : old;
}

std::optional<ChakraAttribute> read_attribute(std::string_view message, ChakraLayout layout) {
  std::optional<WireFields> fields = wire_fields(message);
  if (!fields) return std::nullopt;
  ChakraAttribute attribute;
  std::uint64_t type = 0;
  for (const WireField& field : *fields) {
    if (field.number == 1) attribute.name = std::string(field.bytes);
    if (field.number == 2) type = field.value;
  }
  std::vector<OldType> types = types_of(layout);
  if (type >= types.size()) return attribute;
  WireFields values;
  for (const WireField& field : *fields)
    if (field.number == type + 4) values.push_back(field);
  attribute.value = value_of_fields(values, types[type]);
  if (attribute.name == "comm_type") attribute.value = current_comm_type(attribute.value);
  return attribute;
}

// The fields after the fourth of May 2023.
constexpr std::array<std::string_view, 16> may_names = {
    "tensor_loc",        "tensor_size",       "simulated_run_time", "input_tensor_loc",
    "input_tensor_size", "output_tensor_loc", "output_tensor_size", "num_ops",
    "comm_type",         "involved_dim",      "communicator_id",    "comm_src",
    "comm_dst",          "comm_size",         "comm_tag",           "comm_priority"};

void read_may_field(const WireField& field, ChakraNode& node) {
  if (field.number < 5 || field.number - 5 >= may_names.size()) return;
  std::string_view name = may_names[field.number - 5];
  if (name == "involved_dim") {
    if (!node.find(name)) node.attributes.push_back({std::string(name), std::vector<bool>()});
    for (ChakraAttribute& attribute : node.attributes)
      if (attribute.name == name) {
        std::vector<std::uint64_t> flags;
        add_numbers(field, flags);
        for (std::uint64_t flag : flags)
          std::get<std::vector<bool>>(attribute.value).push_back(flag != 0);
      }
    return;
  }
  ChakraValue value = std::int64_t(field.value);
  // Numbers began with an invalid collective.
  if (name == "comm_type") value = current_comm_type(std::int64_t(field.value) - 1);
  if (name == "simulated_run_time") node.duration_us = field.value;
  node.attributes.push_back({std::string(name), std::move(value)});
}

void read_text_field(const WireField& field, ChakraNode& node) {
  std::string text(field.bytes);
  switch (field.number) {
    case 5: node.inputs.values = text; break;
    case 6: node.inputs.shapes = text; break;
    case 7: node.inputs.types = text; break;
    case 8: node.outputs.values = text; break;
    case 9: node.outputs.shapes = text; break;
    case 10: node.outputs.types = text; break;
    default: break;
  }
}

// Until July 2023 there was no type for metadata before the others.
ChakraNodeType type_of(std::uint64_t number, ChakraLayout layout) {
  bool is_shifted = layout == ChakraLayout::may_2023 || layout == ChakraLayout::june_2023;
  if (is_shifted && number > 0) ++number;
  return number < 256 ? ChakraNodeType(number) : ChakraNodeType::invalid;
}

std::optional<ChakraLayout> layout_of_attribute(std::string_view message) {
  std::optional<WireFields> fields = wire_fields(message);
  if (!fields) return std::nullopt;
  for (const WireField& field : *fields) {
    auto is = [&](std::uint32_t number, Wire wire) {
      return field.number == number && field.wire == wire;
    };
    if (is(4, Wire::fixed32) || is(5, Wire::varint) || is(6, Wire::bytes))
      return ChakraLayout::june_2023;
    if (is(7, Wire::bytes)) return ChakraLayout::july_2023;
    if (is(7, Wire::varint) || is(8, Wire::bytes)) return ChakraLayout::aug_2023;
  }
  return std::nullopt;
}

// OldSigns says which layouts the fields of a node allow.
struct OldSigns {
  bool is_may = false;
  bool has_attributes = false;
  bool has_single_parents = false;
  std::optional<ChakraLayout> of_attributes;
};

void add_signs(const WireFields& fields, OldSigns& signs) {
  for (const WireField& field : fields) {
    bool is_number = field.wire == Wire::varint;
    signs.has_single_parents |= field.number == 4 && is_number;
    signs.is_may |= field.number > 11 || (is_number && (field.number == 5 || field.number >= 8));
    if (field.number != 11 || is_number) continue;
    signs.has_attributes = true;
    if (!signs.of_attributes) signs.of_attributes = layout_of_attribute(field.bytes);
  }
}

}  // namespace

bool is_chakra_metadata(std::string_view message) {
  std::optional<WireFields> fields = wire_fields(message);
  if (!fields) return true;
  for (const WireField& field : *fields)
    if (field.number > 2 || field.wire != Wire::bytes) return false;
  return true;
}

ChakraLayout chakra_layout(gsl::span<const std::string> messages) {
  OldSigns signs;
  for (const std::string& message : messages) {
    if (is_chakra_metadata(message)) continue;
    if (std::optional<WireFields> fields = wire_fields(message)) add_signs(*fields, signs);
  }
  if (signs.is_may) return ChakraLayout::may_2023;
  if (signs.has_attributes) return signs.of_attributes.value_or(ChakraLayout::july_2023);
  return signs.has_single_parents ? ChakraLayout::july_2023 : ChakraLayout::current;
}

std::optional<ChakraNode> read_old_chakra_node(std::string_view message, ChakraLayout layout) {
  std::optional<WireFields> fields = wire_fields(message);
  if (!fields) return std::nullopt;
  ChakraNode node;
  for (const WireField& field : *fields) {
    if (field.number == 1) node.id = field.value;
    if (field.number == 2) node.name = std::string(field.bytes);
    if (field.number == 3) node.type = type_of(field.value, layout);
    if (field.number == 4) add_numbers(field, node.data_deps);
    if (field.number < 5) continue;
    if (layout == ChakraLayout::may_2023) {
      read_may_field(field, node);
    } else if (field.number == 11) {
      std::optional<ChakraAttribute> attribute = read_attribute(field.bytes, layout);
      if (!attribute) return std::nullopt;
      node.attributes.push_back(std::move(*attribute));
    } else {
      read_text_field(field, node);
    }
  }
  return node;
}

std::optional<std::vector<ChakraAttribute>> read_old_chakra_metadata(std::string_view message,
                                                                     ChakraLayout layout) {
  std::optional<WireFields> fields = wire_fields(message);
  if (!fields) return std::nullopt;
  std::vector<ChakraAttribute> attributes;
  for (const WireField& field : *fields) {
    std::optional<ChakraAttribute> attribute = read_attribute(field.bytes, layout);
    if (!attribute) return std::nullopt;
    attributes.push_back(std::move(*attribute));
  }
  return attributes;
}

}  // namespace simmesh::replay
