#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/check/check.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace simmesh {

// AttributeValue is one argument of an op other than a tensor.
using AttributeValue = std::variant<bool, std::int64_t, double, DType, Dims, std::string>;

// Attributes are the arguments of an op other than tensors, by name. An op has a default for an
// argument that it isn't given. Names are string literals.
//
//   call(op, {x}, {{"dims", Dims{1}}, {"keepdim", true}});
//   bool keepdim = attributes.get_or("keepdim", false);
class Attributes {
 public:
  using Entry = std::pair<std::string_view, AttributeValue>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) : entries_(entries.begin(), entries.end()) {}

  // of returns one argument.
  static Attributes of(std::string_view name, AttributeValue value) {
    Attributes result;
    result.entries_.emplace_back(name, std::move(value));
    return result;
  }

  bool has(std::string_view name) const { return find(name) != nullptr; }

  // get returns an argument that the op requires.
  template <class T>
  const T& get(std::string_view name) const {
    const AttributeValue* value = find(name);
    SIMMESH_CHECK(value && std::holds_alternative<T>(*value), "no argument '{}' of that type",
                  name);
    return std::get<T>(*value);
  }

  // get_or returns an argument, or the default where it is absent.
  template <class T>
  T get_or(std::string_view name, T otherwise) const {
    return has(name) ? get<T>(name) : std::move(otherwise);
  }

  void set(std::string_view name, AttributeValue value) {
    if (AttributeValue* known = find(name))
      *known = std::move(value);
    else
      entries_.emplace_back(name, std::move(value));
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  // Equal literals are usually one text.
  static bool is_same(std::string_view a, std::string_view b) {
    return (a.data() == b.data() && a.size() == b.size()) || a == b;
  }
  const AttributeValue* find(std::string_view name) const {
    for (const Entry& entry : entries_)
      if (is_same(entry.first, name)) return &entry.second;
    return nullptr;
  }
  AttributeValue* find(std::string_view name) {
    return const_cast<AttributeValue*>(std::as_const(*this).find(name));
  }

  boost::container::small_vector<Entry, 3> entries_;
};

}  // namespace simmesh
