#include <nanobind/stl/string.h>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/check/error.h"
#include "python/bindings/bindings.h"
#include "python/bindings/torch/exact_forms.h"
#include "python/bindings/torch/exact_operators.h"
#include "python/bindings/torch/kept_records.h"
#include "python/bindings/torch/tensor_layout.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// The way in which an operator runs. torch computes those that pass; a view shares its operand's
// storage; a written operand is the first one, behind which nothing stands afterwards; a form
// computes most calls. All other calls are those of a function of Python.
enum class Way { passed, viewed, written, formed, handled };

Way way_named(std::string_view name) {
  if (name == "passed") return Way::passed;
  if (name == "viewed") return Way::viewed;
  if (name == "written") return Way::written;
  if (name == "formed") return Way::formed;
  if (name == "handled") return Way::handled;
  raise(ErrorKind::value_error, "python/exact",
        "enter_operator: expected passed, viewed, written, formed or handled, got '{}'", name);
}

// EnteredOperator keeps the operator alive. `run` gets the operator, its arguments and its options;
// `torchs` is torch's own function, and `direct` one with the same result that takes half of the
// time, for tensors without methods of their own; None where there is none.
struct EnteredOperator {
  nb::object func;
  Way way = Way::handled;
  nb::object run, torchs, direct;
  Form form = nullptr;
};

std::unordered_map<PyObject*, EnteredOperator>& entered_operators() {
  static auto* entered = new std::unordered_map<PyObject*, EnteredOperator>();
  return *entered;
}

PyObject* name(const char* text) { return PyUnicode_InternFromString(text); }

nb::object taken(PyObject* result) {
  if (!result) nb::raise_python_error();
  return nb::steal(result);
}

// True if a mode of torch functions is on, which would see the call of a direct function.
bool is_function_mode_on() {
  static PyObject* const is_on = [] {
    nb::object torch_c = nb::module_::import_("torch._C");
    return nb::object(torch_c.attr("_is_torch_function_mode_enabled")).release().ptr();
  }();
  return taken(PyObject_CallNoArgs(is_on)).is(nb::handle(Py_True));
}

bool has_items(const nb::object& list) { return nb::len(nb::handle(list)) != 0; }

bool are_without_methods(nb::handle args) {
  for (nb::handle each : nb::borrow<nb::tuple>(args))
    if (!is_plain_tensor(each) && !is_value(each)) return false;
  return true;
}

// Returns the function that calls torch for these arguments.
nb::handle torch_for(const EnteredOperator& entered, nb::handle args) {
  bool is_direct = !entered.direct.is_none() && are_without_methods(args) && !is_function_mode_on();
  return is_direct ? entered.direct : entered.torchs;
}

// The number of optimizers whose step this thread is in.
nb::object& thread_scope() {
  static auto* scope = new nb::object();
  return *scope;
}

bool is_in_step() {
  static PyObject* const steps = name("steps");
  return nb::cast<int>(thread_scope().attr(nb::handle(steps))) != 0;
}

nb::object handled(const EnteredOperator& entered, nb::handle args, nb::handle options) {
  nb::object none = options ? nb::borrow(options) : nb::object(nb::dict());
  return entered.run(entered.func, args, none);
}

nb::object run(const EnteredOperator& entered, nb::handle args, nb::handle options) {
  if (entered.way == Way::handled) return handled(entered, args, options);
  nb::handle first = PyTuple_GET_SIZE(args.ptr()) > 0 ? PyTuple_GET_ITEM(args.ptr(), 0) : nullptr;
  if (entered.way == Way::viewed && first) round_if_parameter(first);
  FormCall call{.torchs = torch_for(entered, args), .args = args, .options = options};
  if (entered.way == Way::formed) {
    call.is_in_step = is_in_step();
    nb::object result = entered.form(call);
    return result.is_valid() ? result : handled(entered, args, options);
  }
  nb::object result = call.call_torch();
  if (entered.way == Way::written && first) drop_behind(first);
  return result;
}

// Reports an access to a buffer of an operation that the program hasn't waited for.
void check_access(nb::handle mode, const EnteredOperator& entered, nb::handle args,
                  nb::handle options) {
  static PyObject* const under_way = name("under_way");
  static PyObject* const started = name("started");
  nb::object operations = mode.attr(nb::handle(under_way));
  if (operations.is_none() || entered.way == Way::viewed) return;
  if (!has_items(operations.attr(nb::handle(started)))) return;
  operations.attr("check")(entered.func, args,
                           options ? nb::borrow(options) : nb::object(nb::dict()));
}

struct DispatchedCall {
  nb::handle func, types, args, options;
};

// The method __torch_dispatch__ of a mode. Calls with subclasses of tensors, those that are
// observed, and the first call of an operator are left to Python.
nb::object dispatched(nb::handle mode, const DispatchedCall& call) {
  static PyObject* const in_python = name("in_python");
  static PyObject* const observers = name("observers");
  const auto& entered = entered_operators();
  bool is_plain = nb::len(call.types) == 0 && PyTuple_CheckExact(call.args.ptr());
  auto found = is_plain ? entered.find(call.func.ptr()) : entered.end();
  nb::handle options = call.options && nb::len(call.options) != 0 ? call.options : nb::handle();
  if (found == entered.end() || has_items(mode.attr(nb::handle(observers))))
    return mode.attr(nb::handle(in_python))(call.func, call.types, call.args,
                                            options ? nb::borrow(options) : nb::object(nb::dict()));
  check_access(mode, found->second, call.args, options);
  return run(found->second, call.args, options);
}

void enter(const nb::object& func, const std::string& way, const nb::object& torchs,
           const nb::object& run, const nb::object& direct, const std::string& form) {
  EnteredOperator entered{func, way_named(way), run, torchs, direct, form_named(form)};
  if ((entered.way == Way::formed) != (entered.form != nullptr))
    raise(ErrorKind::value_error, "python/exact",
          "enter_operator: expected the name of a form where the way is formed, got '{}'", form);
  entered_operators()[func.ptr()] = std::move(entered);
}

nb::object run_entered(nb::handle func, nb::handle args, nb::handle options) {
  auto found = entered_operators().find(func.ptr());
  if (found == entered_operators().end()) return nb::none();
  return run(found->second, args, nb::len(options) != 0 ? options : nb::handle());
}

}  // namespace

void bind_exact_dispatch(nb::module_& module) {
  module.def(
      "thread_scope", [](const nb::object& scope) { thread_scope() = scope; }, nb::arg("scope"),
      "Names the object whose attribute ``steps`` counts this thread's steps of optimizers.");
  module.def(
      "has_form", [](const std::string& form) { return form_named(form) != nullptr; },
      nb::arg("name"), "True for an operator whose usual calls are computed in one step.");
  module.def(
      "enter_operator", &enter, nb::arg("func"), nb::arg("way"), nb::arg("torchs"),
      nb::arg("run").none() = nb::none(), nb::arg("direct").none() = nb::none(),
      nb::arg("form") = "",
      "Says how an operator runs: passed, viewed or written by torch's own function, formed\n"
      "by the form of that name, or handled by ``run``, which also gets what a form leaves.");
  module.def(
      "forget_operator", [](nb::handle func) { entered_operators().erase(func.ptr()); },
      nb::arg("func"));
  module.def(
      "is_entered", [](nb::handle func) { return entered_operators().contains(func.ptr()); },
      nb::arg("func"));
  module.def("run_operator", &run_entered, nb::arg("func"), nb::arg("args"), nb::arg("options"),
             "Runs an operator in the way in which it was entered.");
  module.def(
      "dispatched",
      [](nb::handle mode, nb::handle func, nb::handle types, nb::handle args) {
        return dispatched(mode, {func, types, args, nb::handle()});
      },
      nb::sig("def dispatched(mode: object, func: object, types: object, args: object) -> object"),
      "The method __torch_dispatch__ of a mode, which has ``under_way`` with the operations that\n"
      "were started, or None, ``observers``, and ``in_python`` for all calls that this leaves.");
  module.def(
      "dispatched",
      [](nb::handle mode, nb::handle func, nb::handle types, nb::handle args, nb::handle options) {
        return dispatched(mode, {func, types, args, options.is_none() ? nb::handle() : options});
      },
      nb::sig("def dispatched(mode: object, func: object, types: object, args: object, "
              "options: object) -> object"));
}

}  // namespace simmesh::python
