#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/ops/number.h"
#include "core/tensor/tensor.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// PythonValue is an argument or a result of a Python function: None, a bool, an int, a float, a
// str, a dtype, a tensor, or a list of values.
//
//   PythonValue arguments = read_python_value(recorded["args"], 2);
//   PythonValue given = arguments.with_inputs(tensors);   // {"input": i} is tensors[i]
class PythonValue {
 public:
  using List = std::vector<PythonValue>;

  PythonValue() = default;  // None
  PythonValue(std::same_as<bool> auto value) : value_(value) {}
  PythonValue(std::int64_t value) : value_(value) {}
  PythonValue(double value) : value_(value) {}
  PythonValue(std::string value) : value_(std::move(value)) {}
  PythonValue(DType value) : value_(value) {}
  PythonValue(Tensor value) : value_(std::move(value)) {}
  PythonValue(List values) : value_(std::move(values)) {}
  PythonValue(const std::vector<Tensor>& tensors) : value_(List(tensors.begin(), tensors.end())) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(value_); }
  // find returns the value as one of its types, null if it has another.
  template <class T>
  const T* find() const {
    return std::get_if<T>(&value_);
  }
  template <class T>
  T* find() {
    return std::get_if<T>(&value_);
  }

  // as_number returns a bool, an int or a float, which may be spelled inf, -inf or nan; nothing for
  // another value.
  std::optional<Number> as_number() const;

  // with_inputs returns the value with the tensors in the places of the inputs.
  PythonValue with_inputs(gsl::span<const Tensor> tensors) const;

  // inputs returns the index of each input, in the order in which they are written.
  std::vector<std::size_t> inputs() const;

  // type_name returns Python's name of the type, for errors: "int", "list of Tensor".
  std::string type_name() const;

 private:
  friend PythonValue read_python_value(const CaseField& field, std::size_t input_count);
  // Input is the place of an input in the arguments of a case.
  struct Input {
    std::size_t index;
  };
  explicit PythonValue(Input input) : value_(input) {}

  std::variant<std::monostate, bool, std::int64_t, double, std::string, DType, Tensor, List, Input>
      value_;
};

// read_python_value reads the arguments of a case: as written in Python, {"input": i} for input i
// and {"dtype": d} for a data type. Raises a BadCase for an input that the case doesn't have.
PythonValue read_python_value(const CaseField& field, std::size_t input_count);

// python_value_schema describes such a value.
Schema python_value_schema();

// flat returns a value that is no list, or the entries of a list at all depths, in order.
std::vector<PythonValue> flat(const PythonValue& value);

}  // namespace simmesh
