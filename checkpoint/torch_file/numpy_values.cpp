#include "checkpoint/torch_file/numpy_values.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "checkpoint/catalog/tagged_value.h"
#include "checkpoint/torch_file/utf8.h"
#include "core/tensor/half.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;

// NumpyDType is a dtype as NumPy writes it: "<f4".
struct NumpyDType {
  char order = '|';  // '<', '>', or '|' where it doesn't matter
  char kind = 'V';
  std::size_t bytes = 0;  // of an element
  std::string name;
};

std::optional<NumpyDType> dtype_of(PickleValue value) {
  if (value->kind != Kind::object || class_of(value) != "numpy.dtype") return std::nullopt;
  const auto& arguments = value->items[1]->items;
  if (arguments.empty() || arguments[0]->kind != Kind::text || arguments[0]->text.size() < 2)
    return std::nullopt;
  const std::string& code = arguments[0]->text;
  NumpyDType dtype;
  dtype.kind = code[0];
  auto [end, error] = std::from_chars(code.data() + 1, code.data() + code.size(), dtype.bytes);
  if (error != std::errc() || end != code.data() + code.size() || dtype.bytes == 0)
    return std::nullopt;
  if (value->items.size() == 3 && value->items[2]->kind == Kind::tuple) {
    const auto& state = value->items[2]->items;
    if (state.size() > 1 && state[1]->kind == Kind::text && state[1]->text.size() == 1)
      dtype.order = state[1]->text[0] == '=' ? '<' : state[1]->text[0];
  }
  dtype.name = dtype.kind == 'O' ? "|O" : dtype.order + code;
  if (dtype.kind == 'U' && __builtin_mul_overflow(dtype.bytes, std::size_t{4}, &dtype.bytes))
    return std::nullopt;
  return dtype;
}

// Returns the bits of a number of one to eight bytes.
std::uint64_t bits_at(const NumpyDType& dtype, std::string_view bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::size_t place = dtype.order == '>' ? bytes.size() - 1 - i : i;
    bits |= std::uint64_t(std::uint8_t(bytes[place])) << (8 * i);
  }
  return bits;
}

double number_of(const NumpyDType& dtype, std::string_view bytes) {
  std::uint64_t bits = bits_at(dtype, bytes);
  if (bytes.size() == 8) return std::bit_cast<double>(bits);
  if (bytes.size() == 4) return double(std::bit_cast<float>(std::uint32_t(bits)));
  return double(float(Half::from_bits(std::uint16_t(bits))));
}

JsonValue integer_of(const NumpyDType& dtype, std::string_view bytes) {
  std::uint64_t bits = bits_at(dtype, bytes);
  std::size_t unused = 64 - 8 * bytes.size();
  if (dtype.kind == 'i') return JsonValue(std::int64_t(bits << unused) >> unused);
  if (bits >> 63 != 0) return tagged("$integer", std::to_string(bits));
  return JsonValue(std::int64_t(bits));
}

JsonValue text_of(const NumpyDType& dtype, std::string_view bytes) {
  std::string text;
  std::size_t zeros = 0;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    auto character = char32_t(bits_at(dtype, bytes.substr(at, 4)));
    if (character == 0) {
      ++zeros;  // they pad a text at its end
      continue;
    }
    text.append(zeros, '\0');
    zeros = 0;
    append_utf8(text, character < 0x110000 ? character : U'\uFFFD');
  }
  return JsonValue(text);
}

bool is_known(const NumpyDType& dtype) {
  std::size_t bytes = dtype.bytes;
  bool is_power = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  switch (dtype.kind) {
    case 'b': return bytes == 1;
    case 'i':
    case 'u': return is_power;
    case 'f': return is_power && bytes > 1;
    case 'c': return bytes == 8 || bytes == 16;
    case 'U': return true;
    default: return false;
  }
}

JsonValue element_of(const NumpyDType& dtype, std::string_view bytes) {
  switch (dtype.kind) {
    case 'b': return JsonValue(bytes[0] != 0);
    case 'f': return JsonValue(number_of(dtype, bytes));
    case 'U': return text_of(dtype, bytes);
    case 'c': {
      std::string_view real = bytes.substr(0, bytes.size() / 2), other = bytes.substr(real.size());
      return tagged("$complex", JsonValue::List{number_of(dtype, real), number_of(dtype, other)});
    }
    default: return integer_of(dtype, bytes);
  }
}

// Elements are the elements of an array, and its shape.
struct Elements {
  NumpyDType dtype;
  std::vector<std::int64_t> shape;
  bool is_column_major = false;
  PickleValue data = nullptr;  // bytes, or a list of objects
};

std::optional<std::vector<std::int64_t>> shape_of(PickleValue value, std::size_t& count) {
  if (value->kind != Kind::tuple) return std::nullopt;
  std::vector<std::int64_t> shape;
  count = 1;
  for (PickleValue size : value->items) {
    if (size->kind != Kind::integer || size->integer < 0 ||
        __builtin_mul_overflow(count, std::size_t(size->integer), &count))
      return std::nullopt;
    shape.push_back(size->integer);
  }
  return shape;
}

// Returns the place in the file of the element with a row-major index.
std::size_t place_of(const Elements& array, std::size_t index) {
  if (!array.is_column_major) return index;
  std::size_t place = 0, scale = 1;
  for (std::int64_t size : array.shape) scale *= std::size_t(size);
  for (std::size_t dim = array.shape.size(); dim-- > 0;) {
    auto size = std::size_t(array.shape[dim]);
    scale /= size;
    place += index % size * scale;
    index /= size;
  }
  return place;
}

std::optional<JsonValue> array_of(const Elements& array, std::size_t count, const MakeValue& make) {
  JsonValue::Object fields;
  fields.emplace_back("dtype", array.dtype.name);
  fields.emplace_back("shape", JsonValue(array.shape));
  JsonValue::List values;
  if (array.data->kind == Kind::list) {
    if (array.data->items.size() != count) return std::nullopt;
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(make(array.data->items[place_of(array, i)]));
  } else if (std::size_t bytes; array.data->kind != Kind::bytes ||
                                __builtin_mul_overflow(count, array.dtype.bytes, &bytes) ||
                                bytes != array.data->text.size()) {
    return std::nullopt;
  } else if (!is_known(array.dtype)) {
    fields.emplace_back("bytes", hexadecimal_text(array.data->text));
    return tagged("$array", std::move(fields));
  } else {
    make(array.data);  // which counts the bytes
    std::string_view all = array.data->text;
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(element_of(
          array.dtype, all.substr(place_of(array, i) * array.dtype.bytes, array.dtype.bytes)));
  }
  fields.emplace_back("values", std::move(values));
  return tagged("$array", std::move(fields));
}

// Returns the array of an object that _reconstruct makes and whose state has everything.
std::optional<JsonValue> reconstructed(PickleValue object, const MakeValue& make) {
  if (object->items.size() != 3 || object->items[2]->kind != Kind::tuple) return std::nullopt;
  const auto& state = object->items[2]->items;  // a version, shape, dtype, order and data
  if (state.size() != 5 || state[3]->kind > Kind::integer) return std::nullopt;
  std::size_t count = 0;
  auto shape = shape_of(state[1], count);
  auto dtype = dtype_of(state[2]);
  if (!shape || !dtype) return std::nullopt;
  return array_of({*dtype, *shape, state[3]->flag || state[3]->integer != 0, state[4]}, count,
                  make);
}

std::optional<JsonValue> from_buffer(const std::vector<PickleValue>& arguments,
                                     const MakeValue& make) {
  if (arguments.size() < 3 || arguments.size() > 5) return std::nullopt;
  std::size_t count = 0;
  auto dtype = dtype_of(arguments[1]);
  auto shape = shape_of(arguments[2], count);
  if (!shape || !dtype) return std::nullopt;
  bool is_column_major = arguments.size() > 3 && arguments[3]->text == "F";
  return array_of({*dtype, *shape, is_column_major, arguments[0]}, count, make);
}

std::optional<JsonValue> scalar(const std::vector<PickleValue>& arguments, const MakeValue& make) {
  if (arguments.size() != 2) return std::nullopt;
  auto dtype = dtype_of(arguments[0]);
  if (!dtype) return std::nullopt;
  if (dtype->kind == 'O') return make(arguments[1]);
  const std::string& bytes = arguments[1]->text;
  if (arguments[1]->kind != Kind::bytes || bytes.size() != dtype->bytes) return std::nullopt;
  if (is_known(*dtype)) return element_of(*dtype, bytes);
  return tagged("$array", JsonValue::object({{"dtype", dtype->name},
                                             {"shape", JsonValue::List()},
                                             {"bytes", hexadecimal_text(bytes)}}));
}

}  // namespace

std::optional<JsonValue> numpy_value(PickleValue object, const MakeValue& make) {
  std::string name = class_of(object);
  const auto& arguments = object->items[1]->items;
  if (name == "numpy._core.multiarray._reconstruct") return reconstructed(object, make);
  if (name == "numpy._core.numeric._frombuffer") return from_buffer(arguments, make);
  if (name == "numpy._core.multiarray.scalar") return scalar(arguments, make);
  if (auto dtype = dtype_of(object)) return JsonValue(dtype->name);
  return std::nullopt;
}

}  // namespace simmesh::checkpoint
