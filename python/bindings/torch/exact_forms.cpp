#include "python/bindings/torch/exact_forms.h"

#include <algorithm>
#include <array>
#include <utility>

#include "python/bindings/torch/exact_operators.h"
#include "python/bindings/torch/exact_softmax.h"
#include "python/bindings/torch/kept_records.h"
#include "python/bindings/torch/tensor_layout.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// A call that a form doesn't compute.
const nb::object left_to_others;

nb::object or_others(const nb::object& made) { return made.is_none() ? left_to_others : made; }

// Finds out early that torch has no work to do for an operator whose form would refuse the result.
bool is_real(nb::handle tensor) {
  std::optional<TensorLayout> layout = layout_of(tensor);
  return layout && !layout->is_complex;
}

bool is_plain(const FormCall& call, std::size_t most) {
  return !call.options && !call.is_in_step && call.count() <= most;
}

nb::handle minus_one() {
  static PyObject* const number = PyFloat_FromDouble(-1);
  return number;
}

// Makes a result that is computed from two operands. Where torch makes it, as it does for operands
// of several shapes, its elements are written over.
template <class Make, class Compute>
nb::object elementwise(const FormCall& call, const Make& make, const Compute& compute) {
  if (!is_plain(call, 2)) return left_to_others;
  nb::object made = make();
  if (!made.is_none()) return made;
  if (!is_real(call.arg(0)) && (call.count() < 2 || !is_real(call.arg(1)))) return left_to_others;
  nb::object result = call.call_torch();
  return compute(result) ? result : left_to_others;
}

template <int sign>
nb::object add_form(const FormCall& call) {
  if (call.count() != 2) return left_to_others;
  nb::handle one = call.arg(0), other = call.arg(1);
  return elementwise(
      call, [&] { return added(one, other, sign); },
      [&](const nb::object& result) { return add_into(result, one, other, sign); });
}

nb::object multiply_form(const FormCall& call) {
  if (call.count() != 2) return left_to_others;
  nb::handle one = call.arg(0), other = call.arg(1);
  return elementwise(
      call, [&] { return multiplied(one, other); },
      [&](const nb::object& result) { return multiply_into(result, one, other); });
}

nb::object negate_form(const FormCall& call) {
  nb::handle one = call.arg(0);
  return elementwise(
      call, [&] { return multiplied(one, minus_one()); },
      [&](const nb::object& result) { return multiply_into(result, one, minus_one()); });
}

nb::object divide_form(const FormCall& call) {
  if (call.count() != 2) return left_to_others;
  nb::handle one = call.arg(0), by = call.arg(1);
  return elementwise(
      call, [&] { return divided(one, by); },
      [&](const nb::object& result) { return divide_into(result, one, by); });
}

// Writes a result into the first operand. In the step of an optimizer torch's kernels round each
// write to float32 and float64 once, wherever an element lies.
template <class Compute>
nb::object in_place(const FormCall& call, bool is_rounded_by_torch, const Compute& compute) {
  if (call.count() == 0) return left_to_others;
  auto target = nb::borrow(call.arg(0));
  if (call.is_in_step && is_rounded_by_torch) {
    std::optional<TensorLayout> layout = layout_of(target);
    bool is_wide = layout && !layout->is_complex && bytes_per_element(layout->dtype) >= 4;
    if (!is_wide) return left_to_others;
    call.call_torch();
    drop_behind(target);
    return target;
  }
  if (!is_plain(call, 2) || call.count() != 2 || !compute(target, call.arg(1)))
    return left_to_others;
  drop_if_leaf(target);
  return target;
}

template <int sign>
nb::object add_in_place(const FormCall& call) {
  return in_place(call, true, [](nb::handle target, nb::handle other) {
    return add_into(target, target, other, sign);
  });
}

nb::object multiply_in_place(const FormCall& call) {
  return in_place(call, true, [](nb::handle target, nb::handle other) {
    return multiply_into(target, target, other);
  });
}

nb::object divide_in_place(const FormCall& call) {
  return in_place(call, false,
                  [](nb::handle target, nb::handle by) { return divide_into(target, target, by); });
}

nb::object product_form(const FormCall& call) {
  if (!is_plain(call, 2) || call.count() != 2) return left_to_others;
  return or_others(multiplied_matrices(call.arg(0), call.arg(1)));
}

nb::object add_product_form(const FormCall& call) {
  if (!is_plain(call, 3) || call.count() != 3) return left_to_others;
  return or_others(added_to_product(call.arg(0), call.arg(1), call.arg(2)));
}

template <bool is_mean>
nb::object sum_form(const FormCall& call) {
  if (!is_plain(call, 3) || call.count() == 0 || !is_real(call.arg(0))) return left_to_others;
  nb::object result = call.call_torch();
  nb::handle dims = call.count() > 1 ? call.arg(1) : nb::handle(Py_None);
  return sum_into(result, call.arg(0), dims, is_mean) ? result : left_to_others;
}

// Transforms of functions copy plain numbers, too, behind which nothing stands.
bool is_floating(nb::handle tensor) {
  nb::object dtype = nb::getattr(tensor, "dtype", nb::none());
  if (dtype.is_none()) return false;
  return nb::cast<bool>(dtype.attr("is_floating_point")) ||
         nb::cast<bool>(dtype.attr("is_complex"));
}

// Copies of integers, to floating dtypes too, are torch's own.
nb::object clone_form(const FormCall& call) {
  if (call.count() == 0) return left_to_others;
  nb::handle source = call.arg(0);
  if (!is_real(source)) return is_floating(source) ? left_to_others : call.call_torch();
  nb::object result = call.call_torch();
  return move_behind(result, source) ? result : left_to_others;
}

nb::object copy_form(const FormCall& call) {
  if (call.count() < 2) return left_to_others;
  auto target = nb::borrow(call.arg(0));
  nb::handle source = call.arg(1);
  std::optional<TensorLayout> from = layout_of(source), to = layout_of(target);
  bool is_alike =
      from && to && from->dtype == to->dtype && !from->is_complex && !to->is_complex &&
      from->data != to->data &&
      std::equal(from->shape.begin(), from->shape.end(), to->shape.begin(), to->shape.end());
  if (!is_alike) return left_to_others;
  call.call_torch();
  move_behind(target, source);
  drop_if_leaf(target);
  return target;
}

// Writes one number.
nb::object fill_form(const FormCall& call) {
  if (call.count() == 0 || !is_real(call.arg(0))) return left_to_others;
  if (call.count() > 1 && !PyFloat_CheckExact(call.arg(1).ptr()) &&
      !PyLong_CheckExact(call.arg(1).ptr()))
    return left_to_others;
  call.call_torch();
  drop_behind(call.arg(0));
  return nb::borrow(call.arg(0));
}

constexpr std::array forms{
    std::pair<std::string_view, Form>{"add.Tensor", &add_form<1>},
    std::pair<std::string_view, Form>{"add.Scalar", &add_form<1>},
    std::pair<std::string_view, Form>{"sub.Tensor", &add_form<-1>},
    std::pair<std::string_view, Form>{"mul.Tensor", &multiply_form},
    std::pair<std::string_view, Form>{"mul.Scalar", &multiply_form},
    std::pair<std::string_view, Form>{"neg", &negate_form},
    std::pair<std::string_view, Form>{"div.Tensor", &divide_form},
    std::pair<std::string_view, Form>{"div.Scalar", &divide_form},
    std::pair<std::string_view, Form>{"add_.Tensor", &add_in_place<1>},
    std::pair<std::string_view, Form>{"add_.Scalar", &add_in_place<1>},
    std::pair<std::string_view, Form>{"sub_.Tensor", &add_in_place<-1>},
    std::pair<std::string_view, Form>{"mul_.Tensor", &multiply_in_place},
    std::pair<std::string_view, Form>{"mul_.Scalar", &multiply_in_place},
    std::pair<std::string_view, Form>{"div_.Tensor", &divide_in_place},
    std::pair<std::string_view, Form>{"div_.Scalar", &divide_in_place},
    std::pair<std::string_view, Form>{"mm", &product_form},
    std::pair<std::string_view, Form>{"bmm", &product_form},
    std::pair<std::string_view, Form>{"addmm", &add_product_form},
    std::pair<std::string_view, Form>{"sum", &sum_form<false>},
    std::pair<std::string_view, Form>{"sum.dim_IntList", &sum_form<false>},
    std::pair<std::string_view, Form>{"mean", &sum_form<true>},
    std::pair<std::string_view, Form>{"mean.dim", &sum_form<true>},
    std::pair<std::string_view, Form>{"_softmax", &softmax_form},
    std::pair<std::string_view, Form>{"_softmax_backward_data", &softmax_gradient_form},
    std::pair<std::string_view, Form>{"clone", &clone_form},
    std::pair<std::string_view, Form>{"_to_copy", &clone_form},
    std::pair<std::string_view, Form>{"copy_", &copy_form},
    std::pair<std::string_view, Form>{"zero_", &fill_form},
    std::pair<std::string_view, Form>{"fill_.Scalar", &fill_form},
};

}  // namespace

Form form_named(std::string_view name) {
  const auto* found = std::find_if(forms.begin(), forms.end(),
                                   [&](const auto& each) { return each.first == name; });
  return found == forms.end() ? nullptr : found->second;
}

// A view of a leaf isn't asked for the node that made it: PyTorch raises for one that was made
// without gradients and written since.
void drop_if_leaf(nb::handle tensor) {
  static PyObject* const requires_grad = PyUnicode_InternFromString("requires_grad");
  if (!nb::cast<bool>(tensor.attr(nb::handle(requires_grad)))) return;
  nb::object base = tensor.attr("_base");
  if (!base.is_none() && nb::cast<bool>(base.attr("requires_grad"))) return;
  if (nb::cast<bool>(tensor.attr("is_leaf"))) drop_behind(tensor);
}

}  // namespace simmesh::python
