#include "checkpoint/torch_file/pickle.h"

#include <fmt/format.h>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;

template <class... Args>
[[noreturn]] void refuse_value(fmt::format_string<Args...> format, Args&&... args) {
  raise(ErrorKind::value_error, "checkpoint/pickle", "{}",
        fmt::format(format, std::forward<Args>(args)...));
}

std::string_view name_of(Kind kind) {
  constexpr std::string_view names[] = {
      "None",      "a flag",         "an integer", "an integer of more than 64 bits",
      "a number",  "a text",         "bytes",      "a list",
      "a tuple",   "a set",          "a dict",     "a class",
      "an object", "a persistent id"};
  return names[std::size_t(kind)];
}

void expect(bool holds, std::string_view what, std::string_view expected, PickleValue value) {
  if (!holds) refuse_value("{}: expected {}, got {}", what, expected, name_of(value->kind));
}

}  // namespace

std::string class_of(PickleValue value) {
  // The callable of an object may be an object too, as deep as the pickle is long.
  while (value->kind == Kind::object) {
    PickleValue callable = value->items[0];
    const std::vector<PickleValue>& arguments = value->items[1]->items;
    bool makes_anything = callable->text == "copyreg._reconstructor" ||
                          callable->text == "copyreg.__newobj__" ||
                          callable->text == "copyreg.__newobj_ex__";
    value = makes_anything && !arguments.empty() && arguments[0]->kind == Kind::global
                ? arguments[0]
                : callable;
  }
  return value->kind == Kind::global ? value->text : std::string(name_of(value->kind));
}

std::int64_t as_integer(PickleValue value, std::string_view what) {
  expect(value->kind == Kind::integer, what, "an integer", value);
  return value->integer;
}

const std::string& as_text(PickleValue value, std::string_view what) {
  expect(value->kind == Kind::text, what, "a text", value);
  return value->text;
}

const std::vector<PickleValue>& as_items(PickleValue value, std::string_view what) {
  expect(value->kind == Kind::list || value->kind == Kind::tuple, what, "a list or tuple", value);
  return value->items;
}

std::vector<std::int64_t> as_integers(PickleValue value, std::string_view what) {
  std::vector<std::int64_t> numbers;
  for (PickleValue item : as_items(value, what)) numbers.push_back(as_integer(item, what));
  return numbers;
}

const std::vector<PickleValue>& as_object(PickleValue value, std::string_view callable) {
  expect(value->kind == Kind::object, callable, "an object", value);
  if (value->items[0]->text != callable)
    refuse_value("expected {}, got {}", callable, class_of(value));
  return value->items;
}

PickleValue find_field(PickleValue dict, std::string_view key) {
  expect(dict->kind == Kind::dict, key, "a dict", dict);
  for (std::size_t i = 0; i < dict->items.size(); i += 2)
    if (dict->items[i]->kind == Kind::text && dict->items[i]->text == key)
      return dict->items[i + 1];
  return nullptr;
}

PickleValue field(PickleValue dict, std::string_view key) {
  PickleValue found = find_field(dict, key);
  if (found == nullptr) refuse_value("a dict without the key '{}'", key);
  return found;
}

}  // namespace simmesh::checkpoint
