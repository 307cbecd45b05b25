#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/sums.h"
#include "python/bindings/as_rank.h"
#include "python/bindings/bindings.h"
#include "python/bindings/casts/dims_caster.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// The other operand of a Python operator.
using Operand = std::variant<Tensor, DTensor, std::int64_t, double>;

// Ops take distributed tensors as they take plain ones, and return such.
using Result = std::variant<Tensor, DTensor>;
Result result_of(const Tensor& tensor) {
  if (tensor.distribution()) return DTensor(tensor);
  return tensor;
}

template <class OfTensor, class OfNumber>
Result applied(const Operand& other, OfTensor of_tensor, OfNumber of_number) {
  return computed([&] {
    if (const auto* tensor = std::get_if<Tensor>(&other)) return result_of(of_tensor(*tensor));
    if (const auto* tensor = std::get_if<DTensor>(&other))
      return result_of(of_tensor(tensor->as_tensor()));
    if (const auto* number = std::get_if<std::int64_t>(&other))
      return result_of(of_number(*number));
    return result_of(of_number(std::get<double>(other)));
  });
}

template <class Class>
void add_operators(nb::handle type) {
  auto tensor = nb::borrow<nb::class_<Class>>(type);
  auto whole = [](const Class& self) { return Tensor(self); };
  tensor
      .def(
          "__add__",
          [whole](const Class& self, const Operand& other) {
            return applied(
                other, [&](const Tensor& b) { return add(whole(self), b); },
                [&](Number b) { return add(whole(self), b); });
          },
          nb::is_operator())
      .def(
          "__sub__",
          [whole](const Class& self, const Operand& other) {
            return applied(
                other, [&](const Tensor& b) { return sub(whole(self), b); },
                [&](Number b) { return sub(whole(self), b); });
          },
          nb::is_operator())
      .def(
          "__mul__",
          [whole](const Class& self, const Operand& other) {
            return applied(
                other, [&](const Tensor& b) { return mul(whole(self), b); },
                [&](Number b) { return mul(whole(self), b); });
          },
          nb::is_operator())
      .def(
          "__truediv__",
          [whole](const Class& self, const Operand& other) {
            return applied(
                other, [&](const Tensor& b) { return div(whole(self), b); },
                [&](Number b) { return div(whole(self), b); });
          },
          nb::is_operator())
      .def(
          "__matmul__",
          [whole](const Class& self, const Class& other) {
            return computed([&] { return result_of(matmul(whole(self), whole(other))); });
          },
          nb::is_operator())
      .def("__neg__",
           [whole](const Class& self) {
             return computed([&] { return result_of(neg(whole(self))); });
           })
      .def(
          "sum",
          [whole](const Class& self, const Dims& dim, bool keepdim) {
            DimList dims(dim);
            return computed([&] { return result_of(sum(whole(self), dims, keepdim)); });
          },
          "dim"_a = nb::tuple(), "keepdim"_a = false, "The sum over some dims, or over all.");
}

}  // namespace

void bind_arithmetic(nb::module_& module) {
  add_operators<Tensor>(module.attr("Tensor"));
  add_operators<DTensor>(module.attr("DTensor"));
}

}  // namespace simmesh::python
