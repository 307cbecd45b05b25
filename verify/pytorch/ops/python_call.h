#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/dim_list.h"
#include "verify/pytorch/ops/python_value.h"

namespace simmesh {

// PythonArguments are the arguments of a call as Python gets them.
struct PythonArguments {
  std::vector<PythonValue> positional;
  std::map<std::string, PythonValue> keywords;
};

// PythonSignature is the parameters of a function, as PyTorch's own argument parser has them:
//
//   PythonSignature signature("Tensor self, Tensor|Scalar other, *, Scalar alpha=1");
//
// The types are Tensor, Scalar (a number), int, float, bool, str, dtype, int[] (an int stands for a
// list of one), Scalar[] and Tensor[]; T? may be None; T|U is either. What follows `*` is given by
// name only. A parameter `self` may also be named `input`. Ints of the last positional int[] may be
// given one by one.
class PythonSignature {
 public:
  // A text that doesn't follow the rules breaks a contract of ours.
  explicit PythonSignature(std::string_view text);

  // bind returns the value of each parameter. If the arguments don't fit, it returns an empty list,
  // and `why` names the argument, the expected type and the given one.
  std::vector<PythonValue> bind(const PythonArguments& arguments, std::string& why) const;

  // largest_factor returns a bound for the factor by which the call may multiply the elements of a
  // tensor: sizes among the values of int and int[] parameters, and factors.
  double largest_factor(gsl::span<const PythonValue> values) const;

  // index_of returns the place of a parameter. A name that isn't there breaks a contract of ours.
  std::size_t index_of(std::string_view name) const;

 private:
  struct Parameter {
    std::string type;
    std::string name;
    std::optional<PythonValue> otherwise;
    bool by_name_only = false;
  };

  const Parameter* find(std::string_view name) const;
  std::vector<PythonValue> gathered(const PythonArguments& arguments) const;

  std::vector<Parameter> parameters_;
};

// PythonCall is a call whose arguments fit a signature. Accessors go by the parameters' names.
class PythonCall {
 public:
  PythonCall(const PythonSignature& signature, std::vector<PythonValue> values)
      : signature_(signature), values_(std::move(values)) {}

  bool has(std::string_view name) const { return !value(name).is_none(); }
  bool is_tensor(std::string_view name) const { return value(name).find<Tensor>() != nullptr; }

  // tensor returns an undefined one for None.
  Tensor tensor(std::string_view name) const;
  // target is the tensor that a function in place changes and returns.
  Tensor& target(std::string_view name = "self");
  // tensors returns undefined ones for the entries that are None.
  std::vector<Tensor> tensors(std::string_view name) const;
  // entries returns the entries of a list, none for a value that is no list.
  std::vector<PythonValue> entries(std::string_view name) const;
  Number number(std::string_view name) const;
  std::optional<Number> number_if(std::string_view name) const;
  double real(std::string_view name) const { return number(name).as<double>(); }
  std::int64_t integer(std::string_view name) const { return number(name).as<std::int64_t>(); }
  std::optional<std::int64_t> integer_if(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::optional<DType> dtype(std::string_view name) const;
  // dims returns an empty list for None.
  Dims dims(std::string_view name) const;

 private:
  const PythonValue& value(std::string_view name) const {
    return values_[signature_.index_of(name)];
  }

  const PythonSignature& signature_;
  std::vector<PythonValue> values_;
};

}  // namespace simmesh
