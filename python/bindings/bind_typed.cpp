#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "core/check/error.h"
#include "python/bindings/bindings.h"
#include "python/bindings/casts/dims_caster.h"
#include "sharding/typed/annotation.h"
#include "sharding/typed/conversion.h"
#include "sharding/typed/global_rule.h"
#include "sharding/typed/local_rule.h"
#include "sharding/typed/type_refusal.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// Types are texts in Python: "R", "I", "V", "P" and "S(0)".
using TypeTexts = std::map<std::string, std::string>;
using Operands = std::vector<std::pair<typed::TypedTensor, bool>>;
using BackwardTexts = std::vector<std::tuple<std::string, std::string, std::string>>;

typed::TypeOnAxis type_of_text(const std::string& text) {
  if (std::optional<typed::TypeOnAxis> type = typed::parse_type(text)) return *type;
  raise(ErrorKind::value_error, "typed", "expected R, I, V, P or S(d), got '{}'", text);
}

std::map<std::string, typed::TypeOnAxis> types_of_texts(const TypeTexts& texts) {
  std::map<std::string, typed::TypeOnAxis> types;
  for (const auto& [axis, text] : texts) types[axis] = type_of_text(text);
  return types;
}

std::optional<TypeTexts> texts_of_types(const std::optional<typed::AxisTypes>& types) {
  if (!types) return std::nullopt;
  TypeTexts texts;
  for (const auto& [axis, type] : *types) texts[axis] = typed::letter_of(type);
  return texts;
}

BackwardTexts texts_of_calls(const std::vector<typed::BackwardCall>& calls) {
  BackwardTexts texts;
  for (const typed::BackwardCall& call : calls)
    texts.emplace_back(call.op, typed::to_string(call.src), typed::to_string(call.dst));
  return texts;
}

void make_tensor(typed::TypedTensor* place, const std::optional<TypeTexts>& types,
                 typed::PartitionSpec spec, Shape shape, bool requires_grad) {
  new (place) typed::TypedTensor{
      .spec = std::move(spec), .shape = std::move(shape), .requires_grad = requires_grad};
  if (!types) return;
  place->types.emplace();
  for (const auto& [axis, type] : types_of_texts(*types)) (*place->types)[axis] = type.type;
}

void make_context(typed::TypingContext* place,
                  const std::vector<std::pair<std::string, std::int64_t>>& axes,
                  bool has_current_mesh, bool is_strict, bool is_global, bool has_gradients) {
  new (place) typed::TypingContext{.has_current_mesh = has_current_mesh,
                                   .is_strict = is_strict,
                                   .is_global = is_global,
                                   .has_gradients = has_gradients};
  for (const auto& [name, size] : axes) place->axes.push_back({name, size});
}

typed::TypedTensor infer(const std::string& op, const Operands& operands,
                         const typed::TypingContext& context, std::vector<std::int64_t> dims,
                         bool keeps_dim, std::int64_t result_dims) {
  std::vector<typed::LocalOperand> local;
  for (const auto& [tensor, is_number] : operands) local.push_back({tensor, is_number});
  if (!context.is_global) return {.types = typed::infer_local(op, local, context)};
  return typed::infer_global({.op = op,
                              .operands = local,
                              .dims = std::move(dims),
                              .keeps_dim = keeps_dim,
                              .result_dims = result_dims},
                             context);
}

typed::Conversion conversion_of(const std::string& op, const std::string& src,
                                const std::string& dst, bool is_expert) {
  return {.op = op,
          .src = type_of_text(src),
          .dst = type_of_text(dst),
          .axes = {},
          .is_expert = is_expert};
}

std::tuple<typed::TypedTensor, bool> convert(const std::string& op, const std::string& src,
                                             const std::string& dst,
                                             const std::vector<std::string>& axes, bool is_expert,
                                             bool is_in_place, const typed::TypedTensor& tensor,
                                             const typed::TypingContext& context) {
  typed::Conversion call = conversion_of(op, src, dst, is_expert);
  call.axes = axes;
  call.is_in_place = is_in_place;
  typed::Converted converted = typed::convert_type(call, tensor, context);
  return {std::move(converted.tensor), converted.is_same_tensor};
}

std::tuple<std::string, std::string, std::string, bool> resolve(const std::string& op,
                                                                const std::string& src,
                                                                const std::string& dst,
                                                                bool is_expert) {
  typed::ResolvedConversion found = typed::resolved(conversion_of(op, src, dst, is_expert));
  return {found.call.op, typed::to_string(found.call.src), typed::to_string(found.call.dst),
          found.is_idle};
}

void bind_values(nb::module_& module) {
  nb::class_<typed::TypedTensor>(module, "Tensor", "All that typing knows of a tensor.")
      .def("__init__", &make_tensor, "types"_a.none(), "spec"_a, "shape"_a, "requires_grad"_a,
           "Makes one: types by axis, or None where it was never annotated; for each dim the axes "
           "that cut it.")
      .def_prop_ro(
          "types", [](const typed::TypedTensor& tensor) { return texts_of_types(tensor.types); },
          "The letters by axis; None where the tensor was never annotated.")
      .def_ro("spec", &typed::TypedTensor::spec, "The axes that cut each dim, outermost first.")
      .def_ro("shape", &typed::TypedTensor::shape, "The sizes.");
  nb::class_<typed::TypingContext>(module, "Context", "All that a call is typed under.")
      .def("__init__", &make_context, "axes"_a, "has_current_mesh"_a, "is_strict"_a, "is_global"_a,
           "has_gradients"_a, "Makes one: the names and sizes of the mesh's axes, and the modes.");
}

// An exception of this class has the code, the axis, and the package's class of error.
void bind_refusal(nb::module_& module) {
  nb::object refusal = nb::exception<typed::TypeRefusal>(module, "TypeRefusal");
  nb::register_exception_translator(
      [](const std::exception_ptr& exception, void* refusal_class) {
        try {
          std::rethrow_exception(exception);
        } catch (const typed::TypeRefusal& error) {
          const typed::RefusalFacts& facts = typed::refusal_facts(error.code());
          nb::tuple arguments = nb::make_tuple(std::string(facts.name), error.axis(),
                                               std::string(facts.error), std::string(facts.phrase));
          PyErr_SetObject(static_cast<PyObject*>(refusal_class), arguments.ptr());
        }
      },
      refusal.ptr());
}

}  // namespace

void bind_typed(nb::module_& module) {
  bind_refusal(module);
  bind_values(module);
  module.def("infer", &infer, "op"_a, "operands"_a, "context"_a, "dims"_a, "keeps_dim"_a,
             "result_dims"_a,
             "Types the results of an operation of tensors; the flags mark numbers of Python.");
  module.def("convert", &convert, "op"_a, "src"_a, "dst"_a, "axes"_a, "is_expert"_a,
             "is_in_place"_a, "tensor"_a, "context"_a,
             "Types a conversion. The flag says that it returns its operand.");
  module.def("resolve", &resolve, "op"_a, "src"_a, "dst"_a, "is_expert"_a,
             "The call that does a conversion's work, and if there is nothing to do.");
  module.def(
      "backward_calls",
      [](const std::string& op, const std::string& src, const std::string& dst, bool is_expert) {
        return texts_of_calls(typed::backward_calls(conversion_of(op, src, dst, is_expert)));
      },
      "op"_a, "src"_a, "dst"_a, "is_expert"_a, "The calls of a conversion's backward pass.");
  module.def(
      "assert_type",
      [](const typed::TypedTensor& tensor, const TypeTexts& stated) {
        return typed::assert_type(tensor, types_of_texts(stated));
      },
      "tensor"_a, "stated"_a, "States types, and checks those that are there.");
  module.def(
      "mutate_type",
      [](const typed::TypedTensor& tensor, const std::string& axis, const std::string& src,
         const std::string& dst) {
        return typed::mutate_type(tensor, axis, type_of_text(src), type_of_text(dst));
      },
      "tensor"_a, "axis"_a, "src"_a, "dst"_a, "Replaces a type.");
  module.def(
      "reinterpret_no_grad",
      [](const typed::TypedTensor& tensor, const std::string& axis, const std::string& dst) {
        return typed::reinterpret_no_grad(tensor, axis, type_of_text(dst));
      },
      "tensor"_a, "axis"_a, "dst"_a, "Turns R into I or I into R without a gradient.");
  module.def("check_loss", &typed::check_loss, "loss"_a, "has_gradient"_a, "context"_a,
             "Checks the tensor whose backward() is called.");
  module.def(
      "raw_collective",
      [](const std::string& op, const std::vector<typed::TypedTensor>& tensors,
         const std::string& axis, const typed::TypingContext& context) {
        return typed::raw_collective(op, tensors, axis, context);
      },
      "op"_a, "tensors"_a, "axis"_a, "context"_a, "Types a call of torch.distributed.");
  module.def(
      "is_raw_collective", [](const std::string& op) { return typed::is_raw_collective(op); },
      "op"_a, "True for a call of torch.distributed that is typed.");
  module.def(
      "dual",
      [](const std::string& text) {
        typed::TypeOnAxis type = type_of_text(text);
        return typed::to_string({typed::dual(type.type), type.shard_dim});
      },
      "type"_a, "The type of the gradient.");
}

}  // namespace simmesh::python
