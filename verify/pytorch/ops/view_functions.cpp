#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/functions/reordering.h"
#include "core/ops/functions/striding.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/indexing/resampling.h"
#include "core/ops/registry/registry.h"
#include "core/ops/shapes/aliases.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/unfolding.h"
#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using WithSizes = Tensor (*)(const Tensor& x, DimSpan sizes);

PythonFunction with_sizes(std::string names, const char* signature, const char* sizes,
                          WithSizes function) {
  return {std::move(names), PythonSignature(signature), [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.dims(sizes));
          }};
}

using OfTensor = Tensor (*)(const Tensor& x);
PythonFunction of_tensor(std::string names, OfTensor function) {
  return {std::move(names), PythonSignature("Tensor self"),
          [=](PythonCall& call) -> PythonValue { return function(call.tensor("self")); }};
}

SliceRange slice_of_call(const PythonCall& call) {
  SliceRange range{.dim = call.integer("dim"), .step = call.integer("step")};
  if (call.has("start")) range.start = call.integer("start");
  if (call.has("end")) range.end = call.integer("end");
  return range;
}

// The operator itself; what programs call is a view.
Tensor reshape_op_call(const Tensor& x, DimSpan sizes) {
  Shape shape = reshape(zeros(x.shape(), DType::boolean), sizes).shape();
  return call_one(*find_op("reshape"), {x}, {attribute::size = shape});
}

PythonValue squeeze_call(PythonCall& call) {
  if (!call.has("dim")) return squeeze(call.tensor("self"));
  return squeeze(call.tensor("self"), DimSpan(call.dims("dim")));
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
         return slice(call.tensor("self"), slice_of_call(call));
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
      {"Tensor.unfold aten.unfold.default",
       PythonSignature("Tensor self, int dimension, int size, int step"),
       [](PythonCall& call) -> PythonValue {
         return unfold(call.tensor("self"), {.dim = call.integer("dimension"),
                                             .size = call.integer("size"),
                                             .step = call.integer("step")});
       }},
      {everywhere("as_strided"),
       PythonSignature("Tensor self, int[] size, int[] stride, int? storage_offset=None"),
       [](PythonCall& call) -> PythonValue {
         return as_strided(call.tensor("self"), call.dims("size"), call.dims("stride"),
                           call.integer_if("storage_offset"));
       }},
  };
}

PythonFunctions order_functions() {
  return {
      {everywhere("transpose", "int") + " torch.swapaxes torch.swapdims",
       PythonSignature("Tensor self, int dim0, int dim1"),
       [](PythonCall& call) -> PythonValue {
         return transpose(call.tensor("self"), call.integer("dim0"), call.integer("dim1"));
       }},
      {everywhere("transpose_"), PythonSignature("Tensor self, int dim0, int dim1"),
       [](PythonCall& call) -> PythonValue {
         return transpose_(call.target(), call.integer("dim0"), call.integer("dim1"));
       }},
      {everywhere("t_"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return t_(call.target()); }},
      {everywhere("movedim") + " torch.moveaxis",
       PythonSignature("Tensor self, int[] source, int[] destination"),
       [](PythonCall& call) -> PythonValue {
         return movedim(call.tensor("self"), call.dims("source"), call.dims("destination"));
       }},
      {everywhere("rot90"), PythonSignature("Tensor self, int k=1, int[]? dims=None"),
       [](PythonCall& call) -> PythonValue {
         Dims dims = call.has("dims") ? call.dims("dims") : Dims{0, 1};
         return rot90(call.tensor("self"), call.integer("k"), dims);
       }},
      {everywhere("flip"), PythonSignature("Tensor self, int[] dims"),
       [](PythonCall& call) -> PythonValue {
         return flip(call.tensor("self"), call.dims("dims"));
       }},
      {everywhere("roll"), PythonSignature("Tensor self, int[] shifts, int[]? dims=None"),
       [](PythonCall& call) -> PythonValue {
         return roll(call.tensor("self"), call.dims("shifts"), call.dims("dims"));
       }},
      {everywhere("tril"), PythonSignature("Tensor self, int diagonal=0"),
       [](PythonCall& call) -> PythonValue {
         return tril(call.tensor("self"), call.integer("diagonal"));
       }},
      {everywhere("triu"), PythonSignature("Tensor self, int diagonal=0"),
       [](PythonCall& call) -> PythonValue {
         return triu(call.tensor("self"), call.integer("diagonal"));
       }},
  };
}

PythonFunctions size_functions() {
  return {
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
      {everywhere("unsqueeze_"), PythonSignature("Tensor self, int dim"),
       [](PythonCall& call) -> PythonValue {
         return unsqueeze_(call.target(), call.integer("dim"));
       }},
      {everywhere("squeeze", "default dim dims"), PythonSignature("Tensor self, int[]? dim=None"),
       squeeze_call},
      {everywhere("squeeze_", "default dim"), PythonSignature("Tensor self, int? dim=None"),
       [](PythonCall& call) -> PythonValue {
         return squeeze_(call.target(), call.integer_if("dim"));
       }},
      {"Tensor.view aten.view.dtype", PythonSignature("Tensor self, dtype dtype"),
       [](PythonCall& call) -> PythonValue {
         return view_as_dtype(call.tensor("self"), *call.dtype("dtype"));
       }},
      {"aten.expand.default Tensor.expand",
       PythonSignature("Tensor self, int[] size, *, bool implicit=False"),
       [](PythonCall& call) -> PythonValue {
         return expand(call.tensor("self"), DimSpan(call.dims("size")));
       }},
  };
}

}  // namespace

PythonFunctions view_functions() {
  PythonFunctions functions = {
      with_sizes("Tensor.view aten.view.default aten._unsafe_view.default",
                 "Tensor self, int[] size", "size", view),
      with_sizes("torch.reshape Tensor.reshape", "Tensor self, int[] shape", "shape", reshape),
      with_sizes("aten.reshape.default", "Tensor self, int[] shape", "shape", reshape_op_call),
      with_sizes(everywhere("permute"), "Tensor self, int[] dims", "dims", permute),
      with_sizes("Tensor.repeat aten.repeat.default", "Tensor self, int[] repeats", "repeats",
                 repeat),
      with_sizes(everywhere("tile"), "Tensor self, int[] dims", "dims", tile),
      of_tensor(everywhere("t"), t),
      of_tensor(everywhere("ravel"), [](const Tensor& x) { return reshape(x, {-1}); }),
      of_tensor(everywhere("detach"), detach),
      of_tensor("aten.alias.default", alias),
      of_tensor(everywhere("view_as_real"), view_as_real),
      of_tensor(everywhere("view_as_complex"), view_as_complex),
      {everywhere("clone"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return clone(call.tensor("self")); }},
      {"Tensor.contiguous aten.contiguous.default", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return contiguous(call.tensor("self")); }},
  };
  for (PythonFunction& function : size_functions()) functions.push_back(std::move(function));
  for (PythonFunction& function : order_functions()) functions.push_back(std::move(function));
  for (PythonFunction& function : part_functions()) functions.push_back(std::move(function));
  return functions;
}

}  // namespace simmesh
