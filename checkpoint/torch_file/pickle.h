#pragma once

#include <cstdint>
#include <deque>
#include <optional>
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
    wide_integer,  // of more than 64 bits; text has decimal digits, or "0x" and many digits
    number,
    text,
    bytes,  // text has them; also for a bytearray
    list,
    tuple,
    set,         // also for a frozenset; items are in the order of the file
    dict,        // items are keys and values in turn; also for subclasses, and for mappings
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

// Pickle is a pickle that was read, of any protocol from 0 to 5 and with values of any class. It
// owns its values. Classes have the names of Python 3 and of NumPy 2, whatever wrote the pickle.
class Pickle {
 public:
  // Raises a ValueError that names the byte for a broken pickle, and for one that doesn't end with
  // the bytes. Memory and time grow with the bytes only.
  explicit Pickle(Bytes bytes);

  // Values refer to each other, so they can be moved as a whole, and not copied.
  Pickle(Pickle&&) = default;
  Pickle& operator=(Pickle&&) = default;
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  // first reads the pickle at the begin of the bytes, and sets `length` to the bytes that it takes.
  // Returns nullopt if the bytes end before it does.
  static std::optional<Pickle> first(Bytes bytes, std::size_t& length);

  PickleValue root() const { return root_; }
  // values returns all values, in the order of the bytes.
  const std::deque<PickleNode>& values() const { return nodes_; }

 private:
  Pickle() = default;

  std::deque<PickleNode> nodes_;
  PickleValue root_ = nullptr;
};

// class_of returns the name of the class of an object, or the function that makes it: "m.C". For a
// class or function it returns its own name.
std::string class_of(PickleValue value);

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
