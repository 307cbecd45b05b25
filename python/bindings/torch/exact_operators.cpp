#include "python/bindings/torch/exact_operators.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

#include "python/bindings/torch/exact_products.h"
#include "python/bindings/torch/kept_records.h"
#include "python/bindings/torch/torch_array.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// Returns the record of an operand's storage. A parameter carries nothing.
KeptRecords::Record record_of(nb::handle tensor, const StorageOfTensor& storage) {
  KeptRecords& records = KeptRecords::all();
  KeptRecords::Record record = records.find(storage);
  if (!record || !is_parameter(tensor)) return record;
  records.round(storage);
  return nullptr;
}

// Broadcasts an array; false where it doesn't go into the shape.
bool broadcast(ElementArray& array, gsl::span<const std::int64_t> shape) {
  if (array.shape.size() > shape.size()) return false;
  Strides strides(shape.size(), 0);
  std::size_t first = shape.size() - array.shape.size();
  for (std::size_t dim = 0; dim < array.shape.size(); ++dim) {
    if (array.shape[dim] == 1) continue;
    if (array.shape[dim] != shape[first + dim]) return false;
    strides[first + dim] = array.strides[dim];
  }
  array.shape = Shape(shape.begin(), shape.end());
  array.strides = strides;
  return true;
}

bool is_number(nb::handle value) {
  return PyFloat_CheckExact(value.ptr()) || PyLong_CheckExact(value.ptr());
}

// Returns the values of an operand for each element of a result, one where all have the same;
// nullopt for an operand that isn't computed here.
std::optional<ExactValues> operand_of(nb::handle value, gsl::span<const std::int64_t> shape) {
  if (is_number(value)) return ExactValues::of_doubles({nb::cast<double>(value)});
  std::optional<TensorLayout> layout = layout_of(value);
  if (!layout || layout->is_complex) return std::nullopt;
  ElementArray array = element_array(value);
  bool is_same = std::equal(shape.begin(), shape.end(), array.shape.begin(), array.shape.end());
  if (!is_same && array.count() != 1 && !broadcast(array, shape)) return std::nullopt;
  StorageOfTensor storage(value);
  std::optional<ExactValues> found;
  if (KeptRecords::Record record = record_of(value, storage))
    found = record->read(elements_in(array, storage));
  return found && !found->is_root() ? *found : ExactValues::of(array);
}

// Writes a result, whose only value is repeated where it has one.
void write_result(nb::handle target, const ExactValues& result, std::int64_t count) {
  if (result.count() == count) return keep_behind(target, result);
  std::vector<std::int64_t> firsts(std::size_t(count), 0);
  keep_behind(target, result.taken(firsts));
}

// Operands are the values of both operands of an operator with a result.
struct Operands {
  ExactValues one, other;
  std::int64_t count;
};

std::optional<Operands> operands_of(nb::handle target, nb::handle one, nb::handle other) {
  std::optional<TensorLayout> layout = layout_of(target);
  if (!layout || layout->is_complex) return std::nullopt;
  Shape shape(layout->shape.begin(), layout->shape.end());
  std::optional<ExactValues> left = operand_of(one, shape);
  if (!left) return std::nullopt;
  std::optional<ExactValues> right = operand_of(other, shape);
  if (!right) return std::nullopt;
  return Operands{*left, *right, numel(shape)};
}

bool are_real(std::initializer_list<nb::handle> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](nb::handle tensor) {
    std::optional<TensorLayout> layout = layout_of(tensor);
    return layout && !layout->is_complex;
  });
}

// Returns the divisor of all elements: a number, or the element of a tensor without dims.
std::optional<double> divisor_of(nb::handle value) {
  if (is_number(value)) return nb::cast<double>(value);
  std::optional<TensorLayout> layout = layout_of(value);
  if (!layout || layout->is_complex || !layout->shape.empty()) return std::nullopt;
  return doubles_of(element_array(value))[0];
}

// Returns the dims as [outer, count, inner] with the ones to sum over in the middle; nullopt where
// others are between these.
std::optional<SumDims> sum_dims_of(DimSpan shape, nb::handle dims) {
  auto size = std::int64_t(shape.size());
  std::vector<bool> chosen(shape.size(), dims.is_none() || nb::len(dims) == 0);
  if (!dims.is_none())
    for (nb::handle each : dims) {
      auto dim = nb::cast<std::int64_t>(each);
      if (dim < -size || dim >= size) return std::nullopt;
      chosen[std::size_t(dim < 0 ? dim + size : dim)] = true;
    }
  SumDims found{.outer = 1, .count = 1, .inner = 1};
  bool has_begun = false;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (chosen[dim] && found.inner != 1) return std::nullopt;
    has_begun = has_begun || chosen[dim];
    (chosen[dim] ? found.count : has_begun ? found.inner : found.outer) *= shape[dim];
  }
  return found;
}

// Returns a function of torch that Python has, which lives as long as the process.
PyObject* torch_function(const char* name) {
  nb::object functions = nb::module_::import_("torch").attr("_C").attr("_VariableFunctions");
  return nb::object(functions.attr(name)).release().ptr();
}

nb::object owned(PyObject* made) {
  if (!made) nb::raise_python_error();
  return nb::steal(made);
}

// Returns a new tensor with the dtype and the strides of another.
nb::object new_like(nb::handle like) {
  static PyObject* const empty_like = torch_function("empty_like");
  return owned(PyObject_CallOneArg(empty_like, like.ptr()));
}

// Returns a new contiguous tensor with the dtype of another. Sizes one by one take half of the time
// of a tuple.
nb::object new_matrices(nb::handle like, const Shape& shape) {
  static PyObject* const name = PyUnicode_InternFromString("new_empty");
  std::vector<nb::object> sizes;
  std::vector<PyObject*> arguments{like.ptr()};
  for (std::int64_t size : shape)
    arguments.push_back(sizes.emplace_back(owned(PyLong_FromLongLong(size))).ptr());
  return owned(PyObject_VectorcallMethod(name, arguments.data(), arguments.size(), nullptr));
}

// Returns a new tensor for the result of an operator on elements; None unless both operands are
// contiguous and of that shape and dtype, or one is a number.
nb::object result_like(nb::handle one, nb::handle other) {
  if (!are_real({one}) || !is_row_major(element_array(one))) return nb::none();
  ElementArray array = element_array(one);
  if (!is_number(other)) {
    if (!are_real({other})) return nb::none();
    ElementArray beside = element_array(other);
    if (beside.dtype != array.dtype || beside.shape != array.shape || !is_row_major(beside))
      return nb::none();
  }
  return new_like(one);
}

// Returns a new tensor for a product of matrices; None for other shapes and dtypes.
nb::object result_of_product(nb::handle a, nb::handle b) {
  if (!are_real({a, b})) return nb::none();
  ElementArray left = element_array(a), right = element_array(b);
  std::size_t dims = left.shape.size();
  if (left.dtype != right.dtype || right.shape.size() != dims || (dims != 2 && dims != 3) ||
      left.shape[dims - 1] != right.shape[dims - 2] ||
      (dims == 3 && left.shape[0] != right.shape[0]))
    return nb::none();
  Shape shape = left.shape;
  shape[dims - 1] = right.shape[dims - 1];
  return new_matrices(a, shape);
}

}  // namespace

bool add_into(nb::handle target, nb::handle one, nb::handle other, double factor) {
  std::optional<Operands> operands = operands_of(target, one, other);
  if (!operands) return false;
  if (operands->count != 0)
    write_result(target, operands->one.plus(operands->other, factor), operands->count);
  return true;
}

bool multiply_into(nb::handle target, nb::handle one, nb::handle other) {
  std::optional<Operands> operands = operands_of(target, one, other);
  if (!operands) return false;
  if (operands->count == 0) return true;
  write_result(target,
               is_number(other) ? operands->one.scaled(nb::cast<double>(other))
                                : operands->one.times(operands->other),
               operands->count);
  return true;
}

// Roots are divided elsewhere.
bool divide_into(nb::handle target, nb::handle one, nb::handle by) {
  std::optional<double> divisor = divisor_of(by);
  if (!divisor || !are_real({target, one})) return false;
  ElementArray array = element_array(one);
  StorageOfTensor storage(one);
  std::optional<ExactValues> found;
  if (KeptRecords::Record record = record_of(one, storage))
    found = record->read(elements_in(array, storage));
  if (found && found->is_root()) return false;
  if (array.count() == 0) return true;
  keep_behind(target, (found ? *found : ExactValues::of(array)).divided(*divisor));
  return true;
}

bool product_into(nb::handle target, nb::handle a, nb::handle b) {
  if (!are_real({target, a, b})) return false;
  if (element_array(target).count() != 0) keep_behind(target, matrix_product(a, b));
  return true;
}

bool add_product_into(nb::handle target, nb::handle added, nb::handle a, nb::handle b) {
  if (!are_real({target, added, a, b})) return false;
  ElementArray array = element_array(target);
  if (element_array(added).dtype != array.dtype) return false;
  std::optional<ExactValues> values = operand_of(added, array.shape);
  if (!values) return false;
  if (array.count() != 0) keep_behind(target, matrix_product(a, b).plus(*values));
  return true;
}

bool sum_into(nb::handle target, nb::handle source, nb::handle dims, bool is_mean) {
  if (!are_real({target, source})) return false;
  Shape shape = element_array(source).shape;
  std::optional<SumDims> sums = sum_dims_of(shape, dims);
  if (!sums || numel(shape) == 0) return false;
  std::optional<ExactValues> values = operand_of(source, shape);
  if (!values) return false;
  ExactValues total = values->summed(*sums);
  keep_behind(target, is_mean ? total.divided(double(sums->count)) : total);
  return true;
}

nb::object added(nb::handle one, nb::handle other, double factor) {
  nb::object result = result_like(one, other);
  return result.is_none() || add_into(result, one, other, factor) ? result : nb::none();
}

nb::object multiplied(nb::handle one, nb::handle other) {
  nb::object result = result_like(one, other);
  return result.is_none() || multiply_into(result, one, other) ? result : nb::none();
}

nb::object divided(nb::handle one, nb::handle by) {
  if (!is_number(by)) return nb::none();
  nb::object result = result_like(one, by);
  return result.is_none() || divide_into(result, one, by) ? result : nb::none();
}

nb::object added_to_product(nb::handle added, nb::handle a, nb::handle b) {
  nb::object result = result_of_product(a, b);
  return result.is_none() || add_product_into(result, added, a, b) ? result : nb::none();
}

nb::object multiplied_matrices(nb::handle a, nb::handle b) {
  nb::object result = result_of_product(a, b);
  return result.is_none() || product_into(result, a, b) ? result : nb::none();
}

bool move_behind(nb::handle target, nb::handle source) {
  std::optional<TensorLayout> from = layout_of(source), to = layout_of(target);
  if (!from || !to || from->dtype != to->dtype || from->is_complex || to->is_complex) return false;
  if (!std::equal(from->shape.begin(), from->shape.end(), to->shape.begin(), to->shape.end()))
    return false;
  StorageOfTensor storage(source);
  std::optional<ExactValues> values;
  if (KeptRecords::Record record = record_of(source, storage))
    values = record->read(elements_in(element_array(source), storage));
  if (values)
    keep_behind(target, *values);
  else
    drop_behind(target);
  return true;
}

void round_if_parameter(nb::handle tensor) {
  if (is_parameter(tensor)) record_of(tensor, StorageOfTensor(tensor));
}

}  // namespace simmesh::python
