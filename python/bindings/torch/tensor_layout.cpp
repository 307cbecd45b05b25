#include "python/bindings/torch/tensor_layout.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// The parts of dlpack.h, version 1, that are used: a stable ABI.
struct DLVersion {
  std::uint32_t major, minor;
};
struct DLDtype {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLArray {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t ndim;
  DLDtype dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct DLExchange {
  DLVersion version;
  void* previous;
  void* allocate;
  void* from_object;
  void* to_object;
  int (*array_of)(void* object, DLArray* out);  // may be null
  void* current_stream;
};

constexpr std::int32_t on_cpu = 1;
constexpr std::uint8_t float_code = 2, bfloat_code = 4, complex_code = 5;

// TensorTypes are torch.Tensor and torch.nn.Parameter, once one of them was seen.
struct TensorTypes {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* parameter = nullptr;
  const DLExchange* exchange = nullptr;
};

TensorTypes types_of(const nb::module_& torch) {
  nb::object tensor = torch.attr("Tensor"), parameter = torch.attr("nn").attr("Parameter");
  TensorTypes types{reinterpret_cast<PyTypeObject*>(tensor.ptr()),
                    reinterpret_cast<PyTypeObject*>(parameter.ptr())};
  if (!nb::hasattr(tensor, "__dlpack_c_exchange_api__")) return types;
  nb::object capsule = tensor.attr("__dlpack_c_exchange_api__");
  auto* exchange =
      static_cast<const DLExchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (!exchange)
    PyErr_Clear();
  else if (exchange->version.major == 1 && exchange->array_of)
    types.exchange = exchange;
  return types;
}

// Types live as long as the process.
const TensorTypes& tensor_types() {
  static TensorTypes types;
  if (types.tensor) return types;
  nb::dict modules = nb::module_::import_("sys").attr("modules");
  if (modules.contains("torch")) types = types_of(nb::module_::import_("torch"));
  return types;
}

std::optional<DType> dtype_of(std::uint8_t code, int bits) {
  if (code == bfloat_code && bits == 16) return DType::bfloat16;
  if (code != float_code) return std::nullopt;
  switch (bits) {
    case 16: return DType::float16;
    case 32: return DType::float32;
    case 64: return DType::float64;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<TensorLayout> layout_of(nb::handle tensor) {
  const TensorTypes& types = tensor_types();
  PyTypeObject* type = Py_TYPE(tensor.ptr());
  if (!types.exchange || (type != types.tensor && type != types.parameter)) return std::nullopt;
  DLArray array{};
  if (types.exchange->array_of(tensor.ptr(), &array) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  bool is_complex = array.dtype.code == complex_code;
  std::optional<DType> dtype =
      dtype_of(is_complex ? float_code : array.dtype.code, array.dtype.bits / (is_complex ? 2 : 1));
  if (!dtype || array.dtype.lanes != 1 || array.device_type != on_cpu) return std::nullopt;
  auto dims = std::size_t(array.ndim);
  return TensorLayout{.data = static_cast<std::byte*>(array.data) + array.byte_offset,
                      .dtype = *dtype,
                      .is_complex = is_complex,
                      .shape = {array.shape, dims},
                      .strides = {array.strides, dims}};
}

bool is_plain_tensor(nb::handle object) {
  const TensorTypes& types = tensor_types();
  return Py_TYPE(object.ptr()) == types.tensor || Py_TYPE(object.ptr()) == types.parameter;
}

bool is_value(nb::handle object) {
  PyObject* value = object.ptr();
  if (value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
      PyFloat_CheckExact(value))
    return true;
  if (!PyList_CheckExact(value)) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i)
    if (!PyLong_CheckExact(PyList_GET_ITEM(value, i))) return false;
  return true;
}

bool is_parameter(nb::handle tensor) { return Py_TYPE(tensor.ptr()) == tensor_types().parameter; }

}  // namespace simmesh::python
