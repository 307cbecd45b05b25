#include "verify/typed/local_op.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/random/random.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Values = std::vector<PythonValue>;
using Keywords = std::map<std::string, PythonValue>;

// A form is the function of torch that an operation calls, and with what.
struct Form {
  std::string function;
  Values positional = {};
  Keywords keywords = {};
};

PythonValue int_of(std::int64_t value) { return {value}; }
PythonValue ints(std::initializer_list<std::int64_t> list) {
  return {Values(list.begin(), list.end())};
}

const Tensor& tensor_of(const PythonValue& value) {
  const Tensor* tensor = value.find<Tensor>();
  if (!tensor)
    raise(ErrorKind::type_error, "verify/typed", "expected a tensor as operand, got {}",
          value.type_name());
  return *tensor;
}

const PythonValue& operand_of(const Values& operands, std::size_t at) {
  if (at >= operands.size())
    raise(ErrorKind::type_error, "verify/typed", "expected at least {} operands, got {}", at + 1,
          operands.size());
  return operands[at];
}

std::int64_t size_of(const PythonValue& value, std::int64_t dim) {
  const Tensor& tensor = tensor_of(value);
  std::int64_t at = dim < 0 ? dim + tensor.dim() : dim;
  if (at < 0 || at >= tensor.dim())
    raise(ErrorKind::index_error, "verify/typed", "expected a tensor with a dim {}, got shape {}",
          dim, tensor.shape());
  return tensor.shape()[std::size_t(at)];
}

// Operations that have the arguments of a function of another name.
const std::map<std::string, std::string>& other_functions() {
  static const std::map<std::string, std::string> functions = {
      {"add_alpha", "torch.add"},
      {"add_scalar", "torch.add"},
      {"sub_scalar", "torch.sub"},
      {"mul_scalar", "torch.mul"},
      {"div_scalar", "torch.div"},
      {"add_scalar_", "torch.add"},
      {"mul_scalar_", "torch.mul"},
      {"div_other_keyword", "torch.div"},
      {"sum_dim", "torch.sum"},
      {"mean_dim", "torch.mean"},
      {"greater", "torch.gt"},
      {"equal", "torch.eq"},
      {"norm", "torch.linalg.vector_norm"},
      {"attention", "torch.nn.functional.scaled_dot_product_attention"},
      {"linear_bias", "torch.nn.functional.linear"},
      {"pow_tensor", "torch.pow"},
      {"dropout_zero", "torch.nn.functional.dropout"}};
  return functions;
}

std::string function_of(const std::string& op) {
  auto other = other_functions().find(op);
  if (other != other_functions().end()) return other->second;
  for (const char* owner : {"torch.", "Tensor.", "torch.nn.functional."})
    if (knows_python(owner + op)) return owner + op;
  raise(ErrorKind::not_implemented_error, "verify/typed",
        "expected an operation that is known, got '{}'", op);
}

// torch takes a number first as a tensor of one element.
void numbers_to_tensors(Values& operands) {
  for (PythonValue& operand : operands)
    if (std::optional<Number> number = operand.as_number())
      operand = full({}, DType::float64, number->as<double>());
}

void require_none(const std::string& op, const Keywords& args) {
  if (!args.empty())
    raise(ErrorKind::type_error, "verify/typed", "expected no arguments of {}, got '{}'", op,
          args.begin()->first);
}

bool is_among(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// The argument `dim` of a concatenation is the only one.
Form concatenation(const std::string& op, Values operands, Keywords args) {
  return {op == "stack" ? "torch.stack" : "torch.cat",
          {PythonValue(std::move(operands))},
          std::move(args)};
}

// Makes the call of an operation whose arguments torch takes by place.
Form by_place(const std::string& op, Values operands, const Keywords& args) {
  for (const auto& [name, value] : args) operands.push_back(value);
  return {function_of(op), std::move(operands)};
}

// Makes the call of an operation that has no arguments and whose operands torch takes in another
// form; nullopt for any other one.
std::optional<Form> fixed_form(const std::string& op, Values operands) {
  auto x = [&](std::size_t at) { return operand_of(operands, at); };
  if (is_among(op, {"index_select", "gather", "index_add", "scatter_add"})) {
    operands.insert(operands.begin() + (operands.empty() ? 0 : 1), int_of(0));
    return Form{"torch." + op, std::move(operands)};
  }
  if (op == "getitem_tensor") return Form{"torch.index_select", {x(0), int_of(0), x(1)}};
  if (op == "take_along_dim") return Form{"torch.take_along_dim", {x(0), x(1), int_of(1)}};
  if (op == "repeat_interleave_tensor")
    return Form{"torch.repeat_interleave", std::move(operands), {{"dim", int_of(0)}}};
  if (op == "alias_getitem") return Form{"torch.select", {x(0), int_of(0), int_of(0)}};
  if (op == "slice_getitem")
    return Form{"torch.narrow", {x(0), int_of(1), int_of(1), int_of(size_of(x(0), 1) - 1)}};
  if (op == "dsplit") return Form{"torch.hsplit", {x(0), int_of(2)}};
  if (is_among(op, {"div_floor", "div_scalar_floor"}))
    return Form{"torch.div", std::move(operands), {{"rounding_mode", std::string("floor")}}};
  if (is_among(op, {"scalar_add", "scalar_sub", "scalar_mul", "scalar_div"})) {
    numbers_to_tensors(operands);
    return Form{"torch." + op.substr(std::string_view("scalar_").size()), std::move(operands)};
  }
  if (op == "sum_int64") return Form{"torch.sum", std::move(operands), {{"dtype", DType::int64}}};
  if (op == "einsum")
    return Form{"torch.einsum", {std::string("ij,jk->ik"), PythonValue(std::move(operands))}};
  if (op == "einsum3")
    return Form{"torch.matmul", {run_local_op("matmul", {x(0), x(1)}, {}).front(), x(2)}};
  if (op == "tensordot") return Form{"torch.tensordot", std::move(operands), {{"dims", int_of(1)}}};
  if (op == "masked_fill") return Form{"torch.masked_fill", {x(0), x(1), PythonValue(0.0)}};
  if (op == "layer_norm_affine")
    return Form{"torch.nn.functional.layer_norm", {x(0), ints({size_of(x(0), -1)}), x(1), x(2)}};
  return std::nullopt;
}

Form form_of(const std::string& op, Values operands, Keywords args) {
  if (is_among(op, {"cat", "cat3", "stack"}))
    return concatenation(op, std::move(operands), std::move(args));
  if (is_among(op, {"view", "repeat", "swapaxes"})) return by_place(op, std::move(operands), args);
  if (std::optional<Form> form = fixed_form(op, operands)) {
    require_none(op, args);
    return std::move(*form);
  }
  std::string function = function_of(op);
  return {std::move(function), std::move(operands), std::move(args)};
}

// The elements of a float32 tensor as integers of the same bits.
Tensor bits_of(const Tensor& x) {
  Tensor from = x.contiguous();
  if (from.dtype() != DType::float32)
    raise(ErrorKind::value_error, "verify/typed", "expected float32 for view_dtype, got {}",
          to_string(from.dtype()));
  Tensor result = empty(from.shape(), DType::int32);
  auto source = from.values<float>();
  auto target = result.mutable_values<std::int32_t>();
  for (std::size_t i = 0; i < source.size(); ++i) std::memcpy(&target[i], &source[i], 4);
  return result;
}

Tensor plain(const Tensor& x) { return x.contiguous(); }

// Results of fixed sizes, and those that have a shape but whose values mean nothing.
std::optional<Tensor> made(const std::string& op, const Values& operands) {
  if (is_among(op, {"zeros", "ones", "full", "arange", "linspace", "randn", "rand", "randperm",
                    "empty"}))
    return zeros({4}, DType::float32);
  if (op == "eye") return zeros({4, 4}, DType::float32);
  if (op == "tensor") return zeros({1}, DType::float32);
  if (is_among(op, {"new_zeros", "new_empty"})) return zeros({2}, DType::float32);
  if (is_among(op, {"zeros_like", "empty_like"}))
    return zeros_like(tensor_of(operand_of(operands, 0)));
  if (op == "ones_like") return full_like(tensor_of(operand_of(operands, 0)), 1);
  if (op == "view_dtype") return bits_of(tensor_of(operand_of(operands, 0)));
  if (op == "copy_") return plain(tensor_of(operand_of(operands, 1)));
  if (op == "zero_") return zeros_like(tensor_of(operand_of(operands, 0)));
  if (op == "fill_") return full_like(tensor_of(operand_of(operands, 0)), 1);
  if (op == "autograd.grad")
    return zeros_like(tensor_of(operand_of(operands, operands.size() - 1)));
  return std::nullopt;
}

std::optional<Tensor> drawn(const std::string& op, const Values& operands, const Keywords& args,
                            std::uint64_t seed) {
  if (!draws_numbers(op)) return std::nullopt;
  double p = 0.5;
  for (const auto& [name, value] : args) {
    std::optional<Number> number = value.as_number();
    if (name != "p" || !number)
      raise(ErrorKind::type_error, "verify/typed", "expected the argument p of {}, got '{}'", op,
            name);
    p = number->as<double>();
  }
  const Tensor& x = tensor_of(operand_of(operands, 0));
  Tensor ones = full(x.shape(), DType::float64, 1);
  return dropout(ones, Generator{.seed = seed}.next(), {.p = p, .training = true});
}

std::optional<DType> converted_dtype(const std::string& op) {
  if (op == "float") return DType::float32;
  if (op == "to_float64") return DType::float64;
  if (op == "to_bfloat16") return DType::bfloat16;
  return std::nullopt;
}

}  // namespace

bool draws_numbers(std::string_view op) {
  return is_among(op, {"rand_like", "bernoulli", "dropout"});
}

std::vector<Tensor> run_local_op(const std::string& op, std::vector<PythonValue> operands,
                                 std::map<std::string, PythonValue> args, std::uint64_t seed) {
  if (std::optional<Tensor> result = made(op, operands)) return {*result};
  if (std::optional<Tensor> result = drawn(op, operands, args, seed)) return {*result};
  if (std::optional<DType> dtype = converted_dtype(op))
    return {to(tensor_of(operand_of(operands, 0)), *dtype)};
  std::string name = op;
  if (name.size() > 4 && name.substr(name.size() - 4) == "_out") {
    operand_of(operands, 0);
    name.resize(name.size() - 4);
    operands.pop_back();
  } else if (!name.empty() && name.back() == '_' && other_functions().count(name) == 0) {
    name.pop_back();
  }
  Form form = form_of(name, std::move(operands), std::move(args));
  PythonValue result = call_python(
      form.function, {.positional = std::move(form.positional), .keywords = form.keywords});
  std::vector<Tensor> tensors;
  for (const PythonValue& value : flat(result)) tensors.push_back(tensor_of(value));
  return tensors;
}

}  // namespace simmesh
