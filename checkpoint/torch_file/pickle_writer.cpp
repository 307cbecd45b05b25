#include "checkpoint/torch_file/pickle_writer.h"

#include <bit>

#include "checkpoint/catalog/tagged_value.h"
#include "checkpoint/torch_file/pickle_values.h"
#include "checkpoint/torch_file/utf8.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

bool is_integer_text(std::string_view digits) {
  PickleNode node;
  return !digits.ends_with('L') && set_to_digits(node, digits);
}

}  // namespace

PickleWriter::PickleWriter(Protocol protocol) : protocol_(protocol) {
  put(char(0x80));
  put(char(protocol));
}

void PickleWriter::put_number(std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) put(char(value >> (8 * i)));
}

void PickleWriter::put_text(std::string_view value) {
  for (char c : value) put(c);
}

void PickleWriter::integer(std::int64_t value) {
  if (value == std::int32_t(value)) {
    put('J');
    put_number(std::uint64_t(value), 4);
  } else {
    put(char(0x8a));
    put(8);
    put_number(std::uint64_t(value), 8);
  }
}

void PickleWriter::number(double value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  put('G');
  for (int i = 7; i >= 0; --i) put(char(bits >> (8 * i)));
}

void PickleWriter::text(std::string_view value) {
  if (value.size() > UINT32_MAX)
    raise(ErrorKind::value_error, "checkpoint/pickle", "a text of more than 4 GiB");
  put('X');
  put_number(value.size(), 4);
  put_text(value);
}

void PickleWriter::json(const JsonValue& value) {
  if (const auto* is_set = value.get<bool>()) {
    flag(*is_set);
  } else if (const auto* whole_number = value.get<std::int64_t>()) {
    integer(*whole_number);
  } else if (const auto* real = value.get<double>()) {
    number(*real);
  } else if (const auto* words = value.get<std::string>()) {
    text(*words);
  } else if (const auto* list = value.get<JsonValue::List>()) {
    begin_list();
    for (const JsonValue& item : *list) json(item);
    end_list();
  } else if (const auto* object = value.get<JsonValue::Object>()) {
    std::string_view tag = tag_of(value);
    if (!tag.empty() && tagged_json(tag, object->front().second)) return;
    begin_dict();
    for (const auto& [key, item] : *object) {
      text(object->size() == 1 && key.starts_with("$$") ? key.substr(1) : key);
      json(item);
    }
    end_dict();
  } else {
    none();
  }
}

void PickleWriter::call_json(std::string_view module, std::string_view name,
                             const JsonValue::List& arguments) {
  global(module, name);
  begin_tuple();
  for (const JsonValue& argument : arguments) json(argument);
  end_tuple();
  reduce();
}

// Writes the value of a tag; false if the value isn't written as one of Python's.
bool PickleWriter::tagged_json(std::string_view tag, const JsonValue& value) {
  const auto* words = value.get<std::string>();
  const auto* parts = value.get<JsonValue::List>();
  if (tag == "$bytes" && words != nullptr) {
    std::string latin1;
    for (char byte : bytes_of_hexadecimal(*words)) append_utf8(latin1, std::uint8_t(byte));
    call_json("_codecs", "encode", {JsonValue(latin1), JsonValue("latin1")});
  } else if (tag == "$integer" && words != nullptr && is_integer_text(*words)) {
    put('L');
    put_text(*words);
    put_text("L\n");
  } else if (tag == "$complex" && parts != nullptr && parts->size() == 2) {
    call_json("builtins", "complex", *parts);
  } else if ((tag == "$range" || tag == "$slice") && parts != nullptr && parts->size() == 3) {
    call_json("builtins", tag.substr(1), *parts);
  } else if (tag == "$timedelta" && parts != nullptr && parts->size() == 3) {
    call_json("datetime", "timedelta", *parts);
  } else if (tag == "$dict" && parts != nullptr) {
    call_json("builtins", "dict", {value});
  } else if (const JsonValue* values = value.find("values");
             tag == "$array" && values != nullptr && value.find("dtype") && value.find("shape")) {
    global("numpy", "reshape");
    begin_tuple();
    call_json("numpy", "array", {*values, *value.find("dtype")});
    json(*value.find("shape"));
    end_tuple();
    reduce();
  } else {
    return false;
  }
  return true;
}

void PickleWriter::integers(DimSpan values) {
  begin_tuple();
  for (std::int64_t value : values) integer(value);
  end_tuple();
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  if (protocol_ == Protocol::four) {
    text(module);
    text(name);
    put(char(0x93));
    return;
  }
  put('c');
  put_text(module);
  put('\n');
  put_text(name);
  put('\n');
}

void PickleWriter::new_object() {
  put(')');
  put(char(0x81));
}

void PickleWriter::begin_list() {
  put(']');
  put('(');
}

void PickleWriter::begin_dict() {
  put('}');
  put('(');
}

std::vector<std::byte> PickleWriter::finish() {
  put('.');
  return std::move(bytes_);
}

}  // namespace simmesh::checkpoint
