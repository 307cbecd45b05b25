#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "core/check/error.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"
#include "python/bindings/bindings.h"
#include "python/bindings/casts/dims_caster.h"
#include "python/bindings/casts/dtype_word.h"
#include "python/bindings/casts/foreign_array.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

void bind_description(nb::class_<Tensor>& tensor) {
  tensor.def_prop_ro("shape", &Tensor::shape, "Its sizes.")
      .def_prop_ro(
          "dtype", [](const Tensor& self) { return std::string(to_string(self.dtype())); },
          "PyTorch's name of the type of its elements: \"float32\".")
      .def_prop_ro("ndim", &Tensor::dim, "The number of its dims.")
      .def_prop_ro("nbytes", &Tensor::bytes, "The bytes of its elements.")
      .def("numel", &Tensor::numel, "The number of its elements.")
      .def("size", &Tensor::size, "dim"_a, "The extent of a dim, which may count from the end.")
      .def("stride", &Tensor::strides, "How far apart neighbours along each dim lie, in elements.")
      .def("is_contiguous", &Tensor::is_contiguous, "Whether elements lie in row-major order.")
      .def("__len__",
           [](const Tensor& self) {
             if (self.dim() == 0)
               raise(ErrorKind::type_error, "python/tensor", "expected a dim, got a scalar");
             return self.size(0);
           })
      .def("__repr__", [](const Tensor& self) { return to_string(self); });
}

void bind_views(nb::class_<Tensor>& tensor) {
  tensor
      .def(
          "narrow",
          [](const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length) {
            return self.narrow({.dim = dim, .start = start, .length = length});
          },
          "dim"_a, "start"_a, "length"_a, "A view of a part of a dim.")
      .def("transpose", &Tensor::transpose, "dim0"_a, "dim1"_a, "A view with two dims swapped.")
      .def(
          "permute", [](const Tensor& self, const Dims& dims) { return self.permute(dims); },
          "dims"_a, "A view with the dims in another order.")
      .def("unsqueeze", &Tensor::unsqueeze, "dim"_a, "A view with one dim of size 1 more.")
      .def("squeeze", &Tensor::squeeze, "dim"_a, "A view with one dim of size 1 less.")
      .def(
          "view", [](const Tensor& self, const Dims& shape) { return self.view(shape); }, "shape"_a,
          "The same elements of a contiguous tensor in another shape.")
      .def("contiguous", &Tensor::contiguous, "This tensor if it is contiguous, else a copy.")
      .def("clone", &Tensor::clone,
           "A tensor of its own; the bytes are shared until one of the two is written to.")
      .def("detach", &Tensor::detach, "The same elements, apart from the tape of gradients.")
      .def(
          "to",
          [](const Tensor& self, const DTypeWord& dtype) {
            return converted(self, dtype_of_word(dtype));
          },
          "dtype"_a, "The elements in another dtype, each rounded once, to nearest even.");
}

void bind_exchange(nb::class_<Tensor>& tensor) {
  tensor
      .def(
          "numpy", &to_numpy, nb::sig("def numpy(self) -> numpy.ndarray"),
          "The elements as an array of NumPy, without a copy and read-only: what is written to the "
          "tensor\nlater doesn't change the array. bfloat16 needs the package ml_dtypes; without "
          "it, TypeError.")
      .def(
          "__array__",
          [](const Tensor& self, const nb::object& dtype, const nb::object& copy) {
            return as_numpy_wants(self, dtype, copy);
          },
          "dtype"_a = nb::none(), "copy"_a = nb::none(),
          nb::sig("def __array__(self, dtype: object = None, copy: bool | None = None) -> "
                  "numpy.ndarray"))
      .def(
          "__dlpack__",
          [](const Tensor& self, const nb::object&, const nb::object& max_version,
             const nb::object& dl_device,
             std::optional<bool> copy) { return to_dlpack(self, max_version, dl_device, copy); },
          nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(),
          "dl_device"_a = nb::none(), "copy"_a = nb::none(),
          "A copy of the elements by DLPack, which its consumer may write to. With copy=False "
          "there "
          "is no\ncopy, and the consumer must not write, since other ranks may share the bytes; it "
          "has to understand\nDLPack 1.0.")
      .def(
          "__dlpack_device__", [](const Tensor&) { return nb::make_tuple(1, 0); },
          "The CPU: (1, 0).")
      .def(
          "item", [](const Tensor& self) { return listed(self).attr("item")(); },
          "The only element as a number of Python.")
      .def(
          "tolist", [](const Tensor& self) { return listed(self).attr("tolist")(); },
          "All elements as nested lists.");
}

void bind_factories(nb::module_& module) {
  module.def("from_dlpack", &from_foreign, "array"_a,
             nb::sig("def from_dlpack(array: object) -> Tensor"),
             "A tensor with the elements of anything that offers DLPack or a buffer, such as "
             "PyTorch's tensors\nand NumPy's arrays; always a copy, of any strides, from the CPU's "
             "memory.");
  module.def(
      "tensor", &tensor_of_data, "data"_a, nb::kw_only(), "dtype"_a = nb::none(),
      "A tensor of nested lists of numbers, or of an array, which is copied. Floats of lists "
      "become\nfloat32, as in PyTorch, unless a dtype is given.");
  module.def(
      "empty",
      [](const Dims& shape, const DTypeWord& dtype) {
        return empty(DimSpan(shape), dtype_of_word(dtype));
      },
      "shape"_a, nb::kw_only(), "dtype"_a = "float32", "A tensor of whatever elements.");
  module.def(
      "zeros",
      [](const Dims& shape, const DTypeWord& dtype) {
        return zeros(DimSpan(shape), dtype_of_word(dtype));
      },
      "shape"_a, nb::kw_only(), "dtype"_a = "float32", "A tensor of zeros.");
  module.def(
      "full",
      [](const Dims& shape, double fill_value, const DTypeWord& dtype) {
        return full(DimSpan(shape), dtype_of_word(dtype), fill_value);
      },
      "shape"_a, "fill_value"_a, nb::kw_only(), "dtype"_a = "float32",
      "A tensor of equal elements.");
  module.def(
      "formula",
      [](const Dims& shape, const DTypeWord& dtype, const std::string& rule, std::uint64_t seed,
         double scale, std::uint64_t below) {
        return formula(DimSpan(shape), {.rule = rule_from_string(rule),
                                        .seed = seed,
                                        .scale = scale,
                                        .below = below,
                                        .dtype = dtype_of_word(dtype)});
      },
      "shape"_a, nb::kw_only(), "dtype"_a = "float32", "rule"_a = "wide", "seed"_a = 0,
      "scale"_a = 1.0, "below"_a = 1,
      "The data of the recorded cases: element i depends on the seed and on i alone. rule is wide, "
      "small,\nunit (times scale), positive, index (below a number) or bool.");
}

}  // namespace

void bind_tensor(nb::module_& module) {
  nb::class_<Tensor> tensor(
      module, "Tensor",
      "An array of one rank: a strided view of a storage. Copies view the same "
      "storage, as in\nPyTorch; what other ranks share is never changed by a "
      "write.");
  bind_description(tensor);
  bind_views(tensor);
  bind_exchange(tensor);
  bind_factories(module);
  module.def("same_bits", &same_bits, "a"_a, "b"_a,
             "Whether dtype, shape and bits are equal. NaNs are compared as bits.");
  module.def("difference_in_bits", &difference_in_bits, "actual"_a, "expected"_a,
             "How two tensors differ, in words; empty where they have the same bits.");
}

}  // namespace simmesh::python
