#include "core/ops/shapes/views.h"

#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/functions/reordering.h"
#include "core/ops/registry/registry.h"
#include "core/ops/shapes/aliases.h"
#include "core/ops/shapes/factories.h"
#include "verify/pytorch/ops/call_arguments.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

// The operator itself; what programs call is a view.
Tensor reshape_op_call(const Tensor& x, DimSpan sizes) {
  Shape shape = reshape(zeros(x.shape(), DType::boolean), sizes).shape();
  return call_one(*find_op("reshape"), {x}, {attribute::size = shape});
}

PythonValue squeeze_call(PythonCall& call) {
  if (!call.has("dim")) return squeeze(call.tensor("self"));
  return squeeze(call.tensor("self"), DimSpan(call.dims("dim")));
}

PythonFunctions size_functions() {
  return {
      with_sizes("Tensor.view aten.view.default aten._unsafe_view.default",
                 "Tensor self, int[] size", "size", view),
      {"Tensor.view aten.view.dtype", PythonSignature("Tensor self, dtype dtype"),
       [](PythonCall& call) -> PythonValue {
         return view_as_dtype(call.tensor("self"), *call.dtype("dtype"));
       }},
      with_sizes("torch.reshape Tensor.reshape", "Tensor self, int[] shape", "shape", reshape),
      with_sizes("aten.reshape.default", "Tensor self, int[] shape", "shape", reshape_op_call),
      {"torch.flatten Tensor.flatten aten.flatten.using_ints",
       PythonSignature("Tensor self, int start_dim=0, int end_dim=-1"),
       [](PythonCall& call) -> PythonValue {
         return flatten(call.tensor("self"), call.integer("start_dim"), call.integer("end_dim"));
       }},
      {"torch.unflatten Tensor.unflatten aten.unflatten.int",
       PythonSignature("Tensor self, int dim, int[] sizes"),
       [](PythonCall& call) -> PythonValue {
         return unflatten(call.tensor("self"), call.integer("dim"), DimSpan(call.dims("sizes")));
       }},
      {everywhere("unsqueeze"), PythonSignature("Tensor self, int dim"),
       [](PythonCall& call) -> PythonValue {
         return unsqueeze(call.tensor("self"), call.integer("dim"));
       }},
      {everywhere("squeeze", "default dim dims"), PythonSignature("Tensor self, int[]? dim=None"),
       squeeze_call},
      {"aten.expand.default Tensor.expand",
       PythonSignature("Tensor self, int[] size, *, bool implicit=False"),
       [](PythonCall& call) -> PythonValue {
         return expand(call.tensor("self"), DimSpan(call.dims("size")));
       }},
      of_tensor(everywhere("ravel"), [](const Tensor& x) { return reshape(x, {-1}); }),
      {"Tensor.is_same_size aten.is_same_size.default",
       PythonSignature("Tensor self, Tensor other"),
       [](PythonCall& call) -> PythonValue {
         return call.tensor("self").shape() == call.tensor("other").shape();
       }},
  };
}

PythonFunctions part_functions() {
  return {
      {everywhere("select", "int"), PythonSignature("Tensor self, int dim, int index"),
       [](PythonCall& call) -> PythonValue {
         return select(call.tensor("self"), call.integer("dim"), call.integer("index"));
       }},
      {"aten.slice.Tensor",
       PythonSignature("Tensor self, int dim=0, int? start=None, int? end=None, int step=1"),
       [](PythonCall& call) -> PythonValue {
         return slice(call.tensor("self"), slice_range(call));
       }},
      {everywhere("narrow"), PythonSignature("Tensor self, int dim, int start, int length"),
       [](PythonCall& call) -> PythonValue {
         return narrow(call.tensor("self"), {.dim = call.integer("dim"),
                                             .start = call.integer("start"),
                                             .length = call.integer("length")});
       }},
      {everywhere("diagonal"), PythonSignature("Tensor self, int offset=0, int dim1=0, int dim2=1"),
       [](PythonCall& call) -> PythonValue {
         return diagonal(call.tensor("self"), {.offset = call.integer("offset"),
                                               .dim0 = call.integer("dim1"),
                                               .dim1 = call.integer("dim2")});
       }},
      {everywhere("split", "Tensor"),
       PythonSignature("Tensor self, int split_size_or_sections, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return split(call.tensor("self"), call.integer("split_size_or_sections"),
                      call.integer("dim"));
       }},
      {"torch.split Tensor.split aten.split_with_sizes.default",
       PythonSignature("Tensor self, int[] split_size_or_sections, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return split(call.tensor("self"), DimSpan(call.dims("split_size_or_sections")),
                      call.integer("dim"));
       }},
      {everywhere("chunk"), PythonSignature("Tensor self, int chunks, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return chunk(call.tensor("self"), call.integer("chunks"), call.integer("dim"));
       }},
      {everywhere("unbind", "int"), PythonSignature("Tensor self, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return unbind(call.tensor("self"), call.integer("dim"));
       }},
  };
}

PythonFunctions views_functions() {
  PythonFunctions functions = {
      with_sizes(everywhere("permute"), "Tensor self, int[] dims", "dims", permute),
      of_tensor(everywhere("t"), t),
      {everywhere("transpose", "int") + " torch.swapaxes torch.swapdims",
       PythonSignature("Tensor self, int dim0, int dim1"),
       [](PythonCall& call) -> PythonValue {
         return transpose(call.tensor("self"), call.integer("dim0"), call.integer("dim1"));
       }},
      of_tensor(everywhere("detach"), detach),
      {everywhere("clone"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return clone(call.tensor("self")); }},
      {"Tensor.contiguous aten.contiguous.default", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return contiguous(call.tensor("self")); }},
  };
  for (PythonFunction& function : size_functions()) functions.push_back(std::move(function));
  for (PythonFunction& function : part_functions()) functions.push_back(std::move(function));
  return functions;
}

const PythonFamily views_family(views_functions);

}  // namespace

}  // namespace simmesh
