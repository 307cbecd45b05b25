#include "python/bindings/casts/foreign_array.h"

#include <array>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "core/check/error.h"
#include "core/tensor/convert.h"
#include "core/tensor/strided_copy.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

nb::dlpack::dtype element_type(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  Code code = Code::Float;
  switch (dtype) {
    case DType::float64:
    case DType::float32:
    case DType::float16: break;
    case DType::bfloat16: code = Code::Bfloat; break;
    case DType::int64:
    case DType::int32: code = Code::Int; break;
    case DType::uint8: code = Code::UInt; break;
    case DType::boolean: code = Code::Bool; break;
  }
  return {std::uint8_t(code), std::uint8_t(8 * bytes_per_element(dtype)), 1};
}

std::optional<DType> dtype_of(const nb::dlpack::dtype& type) {
  for (DType dtype : all_dtypes)
    if (element_type(dtype) == type) return dtype;
  return std::nullopt;
}

// Returns an owner of the bytes, for the life of the array.
nb::capsule owner_of(const Tensor& tensor) {
  auto owner = std::make_unique<BufferPtr>(tensor.storage()->buffer());
  nb::capsule capsule(owner.get(),
                      [](void* pointer) noexcept { delete static_cast<BufferPtr*>(pointer); });
  static_cast<void>(owner.release());
  return capsule;
}

template <class... Config>
nb::object array_over(const Tensor& tensor, nb::dlpack::dtype type) {
  using Data = std::conditional_t<(std::is_same_v<Config, nb::ro> || ...), const void*, void*>;
  nb::capsule owner = owner_of(tensor);
  std::array<std::size_t, std::size_t(dims_max)> shape{};
  std::copy(tensor.shape().begin(), tensor.shape().end(), shape.begin());
  auto data = const_cast<std::byte*>(tensor.data());
  return nb::cast(nb::ndarray<Config...>(static_cast<Data>(data), std::size_t(tensor.dim()),
                                         shape.data(), owner, tensor.strides().data(), type));
}

// Returns a copy with bytes of its own, unlike a clone, which shares them until it is written to.
Tensor copied(const Tensor& tensor) {
  Tensor copy = empty(DimSpan(tensor.shape()), tensor.dtype());
  copy_(copy, tensor);
  return copy;
}

// Returns the name of an array's dtype, as it prints it.
std::string dtype_text(const nb::object& array) {
  nb::object dtype = array.attr("dtype");
  return nb::cast<std::string>(nb::str(dtype));
}

nb::module_ numpy() { return nb::module_::import_("numpy"); }

// Returns NumPy's dtype for bfloat16, from a package of its own.
nb::object numpy_bfloat16() {
  try {
    return nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    raise(ErrorKind::type_error, "python/tensor",
          "expected a dtype of NumPy or the package ml_dtypes, got bfloat16: convert it first, "
          "with to(\"float32\")");
  }
}

// NumPy arrays of bfloat16 offer no buffer of it, so their bits are taken.
bool is_numpy_bfloat16(const nb::object& array) {
  return nb::hasattr(array, "__array_interface__") && nb::hasattr(array, "dtype") &&
         dtype_text(array) == "bfloat16";
}

Tensor copy_of(const nb::ndarray<nb::ro>& array, DType dtype) {
  Dims shape, strides;
  for (std::size_t dim = 0; dim < array.ndim(); ++dim) {
    shape.push_back(std::int64_t(array.shape(dim)));
    strides.push_back(array.stride(dim));
  }
  Tensor result = empty(DimSpan(shape), dtype);
  if (result.numel() > 0 && result.has_elements())
    strided_copy({result.mutable_data(), result.strides()},
                 {static_cast<const std::byte*>(array.data()), strides}, shape,
                 bytes_per_element(dtype));
  return result;
}

}  // namespace

nb::object to_numpy(const Tensor& tensor) {
  if (tensor.dtype() != DType::bfloat16)
    return array_over<nb::numpy, nb::ro>(tensor, element_type(tensor.dtype()));
  nb::object dtype = numpy_bfloat16();
  return array_over<nb::numpy, nb::ro>(tensor, nb::dtype<std::uint16_t>()).attr("view")(dtype);
}

nb::object as_numpy_wants(const Tensor& tensor, const nb::object& dtype, const nb::object& copy) {
  nb::object array = to_numpy(tensor);
  bool is_other = !dtype.is_none() && !array.attr("dtype").equal(numpy().attr("dtype")(dtype));
  bool is_refused = !copy.is_none() && !nb::cast<bool>(copy);
  if (is_other && is_refused)
    raise(ErrorKind::value_error, "python/tensor",
          "expected a copy to be allowed, since the dtype differs");
  if (is_other) return array.attr("astype")(dtype);
  bool is_copied = !copy.is_none() && nb::cast<bool>(copy);
  return is_copied ? array.attr("copy")() : array;
}

nb::object listed(const Tensor& tensor) {
  return to_numpy(tensor.dtype() == DType::bfloat16 ? converted(tensor, DType::float32) : tensor);
}

nb::object to_dlpack(const Tensor& tensor, const nb::object& max_version,
                     const nb::object& dl_device, std::optional<bool> copy) {
  nb::dlpack::dtype type = element_type(tensor.dtype());
  bool is_shared = copy.has_value() && !*copy;
  if (is_shared && max_version.is_none())
    throw nb::buffer_error(
        "[python/tensor] expected a consumer of DLPack 1.0, which knows read-only arrays, or a "
        "copy");
  nb::object array = is_shared ? array_over<nb::array_api, nb::ro>(tensor, type)
                               : array_over<nb::array_api>(copied(tensor), type);
  return array.attr("__dlpack__")("max_version"_a = max_version, "dl_device"_a = dl_device);
}

Tensor from_foreign(const nb::object& array) {
  if (is_numpy_bfloat16(array))
    return copy_of(nb::cast<nb::ndarray<nb::ro>>(array.attr("view")("uint16")), DType::bfloat16);
  nb::ndarray<nb::ro> view;
  if (!nb::try_cast(array, view))
    raise(ErrorKind::type_error, "python/tensor",
          "expected an array with DLPack or a buffer, got {}", nb::inst_name(array).c_str());
  if (view.device_type() != nb::device::cpu::value)
    raise(ErrorKind::type_error, "python/tensor", "expected an array in the CPU's memory, got {}",
          nb::inst_name(array).c_str());
  std::optional<DType> dtype = dtype_of(view.dtype());
  if (!dtype)
    raise(ErrorKind::type_error, "python/tensor",
          "expected elements of float64, float32, bfloat16, float16, int64, int32, uint8 or bool, "
          "got {}",
          nb::hasattr(array, "dtype") ? dtype_text(array) : "another type");
  return copy_of(view, *dtype);
}

Tensor tensor_of_data(const nb::object& data, const std::optional<DTypeWord>& dtype) {
  bool is_array = nb::hasattr(data, "__dlpack__") || nb::hasattr(data, "__array_interface__");
  nb::object array = is_array ? data : numpy().attr("asarray")(data);
  Tensor tensor = from_foreign(array);
  if (dtype) return converted(tensor, dtype_of_word(*dtype));
  if (!is_array && tensor.dtype() == DType::float64) return converted(tensor, DType::float32);
  return tensor;
}

}  // namespace simmesh::python
