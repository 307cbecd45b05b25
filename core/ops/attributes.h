#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/check/check.h"
#include "core/ops/number.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace simmesh {

// AttributeValue is one argument of an op other than a tensor.
using AttributeValue = std::variant<bool, std::int64_t, double, DType, Dims, std::string>;

template <class T>
struct Attribute;

// NamedAttribute is such an argument with its name. Assigning to an Attribute makes one.
struct NamedAttribute {
  std::string_view name;
  AttributeValue value;

  bool operator==(const NamedAttribute&) const = default;

 private:
  template <class T>
  friend struct Attribute;
  template <class T>
  NamedAttribute(std::string_view its_name, T&& its_value)
      : name(its_name), value(std::forward<T>(its_value)) {}
};

// Attribute is the name and the type of an argument of an op other than a tensor. Each is named
// once, in namespace attribute: by the header of the family of ops that has it, or by
// core/ops/attribute_names.h where several families have it. So a slip of a name or of a type is an
// error of the compiler.
//
//   inline constexpr Attribute<bool> invert{"invert"};
//
// A Number may be given as a bool, an integer or a floating number, and stays what it is.
template <class T>
struct Attribute {
  std::string_view name;  // a string literal

  NamedAttribute operator=(const T& value) const { return {name, value}; }
  NamedAttribute operator=(T&& value) const { return {name, std::move(value)}; }
  // A number is no flag, and a flag no number.
  template <class U>
  requires(std::is_same_v<T, bool> != std::is_same_v<U, bool>) NamedAttribute operator=(
      U value) const = delete;
};
template <>
struct Attribute<Number> {
  std::string_view name;

  NamedAttribute operator=(Number value) const {
    return std::visit([&](auto number) { return NamedAttribute{name, number}; }, value.value());
  }
};

// Attributes are the arguments of an op other than tensors, by name. An op has a default for an
// argument that it isn't given.
//
//   call(op, {x}, {attribute::dims = Dims{1}, attribute::keepdim = true});
//   bool keepdim = attributes.get_or(attribute::keepdim, false);
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<NamedAttribute> all) : all_(all.begin(), all.end()) {}

  // of returns one argument.
  static Attributes of(NamedAttribute one) {
    Attributes result;
    result.all_.push_back(std::move(one));
    return result;
  }

  template <class T>
  bool has(const Attribute<T>& which) const {
    return find(which.name) != nullptr;
  }

  // get returns an argument that the op can't do without.
  template <class T>
  const T& get(const Attribute<T>& which) const {
    const T* value = find_as<T>(which.name);
    SIMMESH_CHECK(value, "no argument '{}'", which.name);
    return *value;
  }
  Number get(const Attribute<Number>& which) const {
    std::optional<Number> number = number_in(which);
    SIMMESH_CHECK(number, "no argument '{}'", which.name);
    return *number;
  }

  // get_or returns an argument, or the default where it is absent.
  template <class T>
  T get_or(const Attribute<T>& which, std::type_identity_t<T> otherwise) const {
    const T* value = find_as<T>(which.name);
    return value ? *value : std::move(otherwise);
  }
  Number get_or(const Attribute<Number>& which, Number otherwise) const {
    return number_in(which).value_or(otherwise);
  }

  // number_in returns a number, or nothing where it is absent.
  std::optional<Number> number_in(const Attribute<Number>& which) const;

  void set(NamedAttribute one) {
    if (AttributeValue* known = find(one.name))
      *known = std::move(one.value);
    else
      all_.push_back(std::move(one));
  }

  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  // Equal literals are usually one text.
  static bool is_same(std::string_view a, std::string_view b) {
    return (a.data() == b.data() && a.size() == b.size()) || a == b;
  }
  const AttributeValue* find(std::string_view name) const {
    for (const NamedAttribute& one : all_)
      if (is_same(one.name, name)) return &one.value;
    return nullptr;
  }
  template <class T>
  const T* find_as(std::string_view name) const {
    const AttributeValue* value = find(name);
    SIMMESH_CHECK(!value || std::holds_alternative<T>(*value), "argument '{}' has another type",
                  name);
    return value ? std::get_if<T>(value) : nullptr;
  }
  AttributeValue* find(std::string_view name) {
    return const_cast<AttributeValue*>(std::as_const(*this).find(name));
  }

  boost::container::small_vector<NamedAttribute, 3> all_;
};

}  // namespace simmesh
