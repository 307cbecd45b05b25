#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

struct PickleNode;
using PickleValue = const PickleNode*;

// PickleNode is a value of a Python pickle. Nothing is run to make it: an object is kept as the
// class or function that Python would call, and its arguments. A value may be part of several
// others, even of itself.
struct PickleNode {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    number,
    text,
    list,
    tuple,
    dict,        // items are keys and values in turn; also for an OrderedDict
    global,      // a class or function; text is "module.name"
    object,      // items are the callable, its arguments, and the state if there is one
    persistent,  // a value outside the pickle; items is its id
  };

  Kind kind = Kind::none;
  bool flag = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text = {};
  std::vector<PickleValue> items = {};
};

// PickleDialect lists the opcodes, and the full names of the classes and functions, that a pickle
// may hold. A name that ends in '*' stands for all names that begin so.
struct PickleDialect {
  std::string_view opcodes;
  std::vector<std::string_view> globals;
};

// Pickle is a pickle that was read. It owns its values.
class Pickle {
 public:
  // Raises a ValueError that names the byte for anything outside the dialect, for a broken pickle,
  // and for a pickle that doesn't end with the bytes. Memory and time grow with the bytes only.
  Pickle(Bytes bytes, const PickleDialect& dialect);

  PickleValue root() const { return root_; }

 private:
  std::deque<PickleNode> nodes_;
  PickleValue root_ = nullptr;
};

// These return a value as a type. They raise a ValueError if it has another type; `what` is its
// name in the text.
std::int64_t as_integer(PickleValue value, std::string_view what);
const std::string& as_text(PickleValue value, std::string_view what);
// as_items returns the entries of a list or tuple.
const std::vector<PickleValue>& as_items(PickleValue value, std::string_view what);
std::vector<std::int64_t> as_integers(PickleValue value, std::string_view what);
// as_object returns the items of an object of a class or function.
const std::vector<PickleValue>& as_object(PickleValue value, std::string_view callable);
// field returns the value of a text key of a dict. find_field returns null if there is none.
PickleValue field(PickleValue dict, std::string_view key);
PickleValue find_field(PickleValue dict, std::string_view key);

}  // namespace simmesh::checkpoint
