#include "python/bindings/torch/torch_array.h"

#include <bit>
#include <nanobind/stl/string.h>
#include <unordered_map>
#include <unordered_set>

#include "core/check/error.h"
#include "core/tensor/strided_copy.h"
#include "python/bindings/torch/tensor_layout.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// The relation of elements to the simmesh dtype that carries them.
enum class Carried { itself, int8, complex, bits };

struct TorchDtype {
  std::string name;  // without "torch."
  DType carrier;
  Carried carried;
};

DType float_of(std::size_t bytes) {
  if (bytes == 2) return DType::float16;
  return bytes == 4 ? DType::float32 : DType::float64;
}

DType bits_of(std::size_t bytes, const std::string& name) {
  switch (bytes) {
    case 1: return DType::uint8;
    case 2: return DType::float16;
    case 4: return DType::int32;
    case 8: return DType::int64;
    default:
      raise(ErrorKind::type_error, "python/torch_array",
            "expected elements of 1, 2, 4 or 8 bytes, got {} of {} bytes", name, bytes);
  }
}

TorchDtype described(nb::handle dtype) {
  std::string name = nb::cast<std::string>(nb::str(dtype));
  name = name.substr(name.rfind('.') + 1);
  for (DType known : all_dtypes)
    if (to_string(known) == name) return {name, known, Carried::itself};
  if (name == "int8") return {name, DType::uint8, Carried::int8};
  auto bytes = nb::cast<std::size_t>(dtype.attr("itemsize"));
  if (nb::cast<bool>(dtype.attr("is_complex")))
    return {name, float_of(bytes / 2), Carried::complex};
  return {name, bits_of(bytes, name), Carried::bits};
}

// Dtypes are objects that live as long as the process.
const TorchDtype& dtype_of(nb::handle tensor) {
  static auto* known = new std::unordered_map<PyObject*, TorchDtype>();
  nb::object dtype = tensor.attr("dtype");
  auto found = known->find(dtype.ptr());
  if (found != known->end()) return found->second;
  TorchDtype result = described(dtype);
  return known->emplace(dtype.release().ptr(), std::move(result)).first->second;
}

template <class Numbers>
Numbers numbers_of(nb::handle sequence) {
  Numbers numbers;
  for (nb::handle number : sequence) numbers.push_back(nb::cast<std::int64_t>(number));
  return numbers;
}

ElementArray array_of(const TensorLayout& layout) {
  ElementArray array{layout.data, layout.dtype, Shape(layout.shape.begin(), layout.shape.end()),
                     Strides(layout.strides.begin(), layout.strides.end())};
  if (!layout.is_complex) return array;
  for (std::int64_t& stride : array.strides) stride *= 2;
  array.shape.push_back(2);
  array.strides.push_back(1);
  return array;
}

// Python's attributes are asked only where the tensor can't be read without them.
HostArray array_of(nb::handle tensor, const TorchDtype& dtype) {
  HostArray array;
  if (dtype.carried == Carried::itself) {
    if (std::optional<TensorLayout> layout = layout_of(tensor)) {
      array.data = layout->data;
      array.dtype = layout->dtype;
      array.shape.assign(layout->shape.begin(), layout->shape.end());
      array.strides.assign(layout->strides.begin(), layout->strides.end());
      return array;
    }
  }
  array.data = std::bit_cast<std::byte*>(nb::cast<std::uintptr_t>(tensor.attr("data_ptr")()));
  array.dtype = dtype.carrier;
  array.shape = numbers_of<Shape>(tensor.attr("shape"));
  array.strides = numbers_of<Strides>(tensor.attr("stride")());
  if (dtype.carried != Carried::itself) array.host_dtype = dtype.name.c_str();
  if (dtype.carried != Carried::complex) return array;
  for (std::int64_t& stride : array.strides) stride *= 2;
  array.shape.push_back(2);
  array.strides.push_back(1);
  return array;
}

bool is_order(ReduceOp reduce) { return reduce == ReduceOp::min || reduce == ReduceOp::max; }

// Sums and products of int8 are those of uint8, in the bits that are kept.
bool is_defined(Carried carried, ReduceOp reduce) {
  bool has_fractions = reduce == ReduceOp::avg || reduce == ReduceOp::premul_sum;
  switch (carried) {
    case Carried::itself: return true;  // or refused by the operation
    case Carried::int8: return !has_fractions;
    case Carried::complex: return reduce == ReduceOp::sum || has_fractions;
    case Carried::bits: return false;
  }
  return false;
}

}  // namespace

HostArray torch_array(nb::handle tensor) { return array_of(tensor, dtype_of(tensor)); }

HostArray torch_array(nb::handle tensor, ReduceOp reduce) {
  const TorchDtype& dtype = dtype_of(tensor);
  if (!is_defined(dtype.carried, reduce))
    raise(ErrorKind::type_error, "python/torch_array",
          "{}: expected a dtype for which it is defined, got torch.{}", to_string(reduce),
          dtype.name);
  HostArray array = array_of(tensor, dtype);
  if (dtype.carried == Carried::int8 && is_order(reduce)) array.inverted_bits = std::byte(0x80);
  return array;
}

bool holds_floats(nb::handle tensor) {
  if (layout_of(tensor)) return true;
  const TorchDtype& dtype = dtype_of(tensor);
  bool is_number = dtype.carried == Carried::itself || dtype.carried == Carried::complex;
  return is_number && is_floating_point(dtype.carrier);
}

ElementArray element_array(nb::handle tensor) {
  if (std::optional<TensorLayout> layout = layout_of(tensor)) return array_of(*layout);
  const TorchDtype& dtype = dtype_of(tensor);
  if (!holds_floats(tensor))
    raise(ErrorKind::type_error, "python/torch_array",
          "expected float64, float32, float16, bfloat16 or complex elements, got torch.{}",
          dtype.name);
  HostArray array = array_of(tensor, dtype);
  return {array.data, array.dtype, std::move(array.shape), std::move(array.strides)};
}

std::vector<std::int64_t> index_list(nb::handle tensor) {
  const TorchDtype& dtype = dtype_of(tensor);
  if (dtype.carrier != DType::int64 || dtype.carried != Carried::itself)
    raise(ErrorKind::type_error, "python/torch_array", "expected indices of int64, got torch.{}",
          dtype.name);
  HostArray array = array_of(tensor, dtype);
  std::vector<std::int64_t> indices(std::size_t(numel(array.shape)));
  Strides rows = contiguous_strides(array.shape);
  if (!indices.empty())
    strided_copy({reinterpret_cast<std::byte*>(indices.data()), rows}, {array.data, array.strides},
                 array.shape, sizeof(std::int64_t));
  return indices;
}

const char* torch_dtypes(const nb::list& tensors) {
  static auto* texts = new std::unordered_set<std::string>();
  bool is_known = true;
  for (nb::handle tensor : tensors) is_known &= dtype_of(tensor).carried == Carried::itself;
  if (is_known) return nullptr;
  std::string text;
  for (nb::handle tensor : tensors) {
    const std::string& name = dtype_of(tensor).name;
    if (!text.ends_with(name)) text += (text.empty() ? "" : " and ") + name;
  }
  return texts->insert(text).first->c_str();
}

}  // namespace simmesh::python
