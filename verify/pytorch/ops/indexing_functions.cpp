#include "core/ops/indexing/indexing.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/indexing/view_scattering.h"
#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonValue embedding_call(PythonCall& call) {
  std::optional<std::int64_t> padding = call.integer_if("padding_idx");
  if (padding && *padding < 0) *padding += call.tensor("weight").size(0);
  return embedding(call.tensor("weight"), call.tensor("input"), padding);
}

PythonFunctions reading_functions() {
  return {
      {everywhere("gather"),
       PythonSignature("Tensor self, int dim, Tensor index, *, bool sparse_grad=False"),
       [](PythonCall& call) -> PythonValue {
         return gather(call.tensor("self"), call.integer("dim"), call.tensor("index"));
       }},
      {everywhere("take_along_dim"), PythonSignature("Tensor self, Tensor indices, int? dim=None"),
       [](PythonCall& call) -> PythonValue {
         Tensor self = call.tensor("self"), indices = call.tensor("indices");
         if (!call.has("dim")) return take_along_dim(flatten(self), flatten(indices), 0);
         return take_along_dim(self, indices, call.integer("dim"));
       }},
      {everywhere("index_select"), PythonSignature("Tensor self, int dim, Tensor index"),
       [](PythonCall& call) -> PythonValue {
         return index_select(call.tensor("self"), call.integer("dim"), call.tensor("index"));
       }},
      {"aten.index.Tensor", PythonSignature("Tensor self, Tensor?[] indices"),
       [](PythonCall& call) -> PythonValue {
         return index(call.tensor("self"), call.tensors("indices"));
       }},
      {everywhere("masked_select"), PythonSignature("Tensor self, Tensor mask"),
       [](PythonCall& call) -> PythonValue {
         return masked_select(call.tensor("self"), call.tensor("mask"));
       }},
      {"torch.nn.functional.embedding",
       PythonSignature("Tensor input, Tensor weight, int? padding_idx=None, "
                       "float? max_norm=None, float norm_type=2, bool scale_grad_by_freq=False, "
                       "bool sparse=False"),
       embedding_call},
      {"aten.embedding.default",
       PythonSignature("Tensor weight, Tensor indices, int padding_idx=-1, "
                       "bool scale_grad_by_freq=False, bool sparse=False"),
       [](PythonCall& call) -> PythonValue {
         std::optional<std::int64_t> padding;
         if (call.integer("padding_idx") >= 0) padding = call.integer("padding_idx");
         return embedding(call.tensor("weight"), call.tensor("indices"), padding);
       }},
      {"torch.nn.functional.one_hot", PythonSignature("Tensor self, int num_classes=-1"),
       [](PythonCall& call) -> PythonValue {
         return one_hot(call.tensor("self"), call.integer("num_classes"));
       }},
  };
}

PythonFunctions view_writing_functions() {
  return {
      {everywhere("select_scatter"), PythonSignature("Tensor self, Tensor src, int dim, int index"),
       [](PythonCall& call) -> PythonValue {
         return select_scatter(call.tensor("self"), call.tensor("src"), call.integer("dim"),
                               call.integer("index"));
       }},
      {everywhere("slice_scatter"),
       PythonSignature("Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, "
                       "int step=1"),
       [](PythonCall& call) -> PythonValue {
         SliceRange range{.dim = call.integer("dim"), .step = call.integer("step")};
         if (call.has("start")) range.start = call.integer("start");
         if (call.has("end")) range.end = call.integer("end");
         return slice_scatter(call.tensor("self"), call.tensor("src"), range);
       }},
  };
}

}  // namespace

PythonFunctions indexing_functions() {
  PythonFunctions functions = {
      {everywhere("scatter", "src value"),
       PythonSignature("Tensor self, int dim, Tensor index, Tensor|Scalar src"),
       [](PythonCall& call) -> PythonValue {
         Tensor self = call.tensor("self"), index = call.tensor("index");
         if (call.is_tensor("src"))
           return scatter(self, call.integer("dim"), index, call.tensor("src"));
         return scatter(self, call.integer("dim"), index, call.real("src"));
       }},
      {everywhere("scatter", "value"),
       PythonSignature("Tensor self, int dim, Tensor index, *, Scalar value"),
       [](PythonCall& call) -> PythonValue {
         return scatter(call.tensor("self"), call.integer("dim"), call.tensor("index"),
                        call.real("value"));
       }},
      {everywhere("scatter_add"), PythonSignature("Tensor self, int dim, Tensor index, Tensor src"),
       [](PythonCall& call) -> PythonValue {
         return scatter_add(call.tensor("self"), call.integer("dim"), call.tensor("index"),
                            call.tensor("src"));
       }},
      {everywhere("scatter_reduce", "two"),
       PythonSignature("Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
                       "bool include_self=True"),
       [](PythonCall& call) -> PythonValue {
         std::string reduce = call.text("reduce");
         return scatter_reduce(call.tensor("self"), call.integer("dim"), call.tensor("index"),
                               call.tensor("src"),
                               {.reduce = reduce, .include_self = call.flag("include_self")});
       }},
      {everywhere("index_add"),
       PythonSignature("Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1"),
       [](PythonCall& call) -> PythonValue {
         return index_add(call.tensor("self"), call.integer("dim"), call.tensor("index"),
                          call.tensor("source"), call.real("alpha"));
       }},
      {everywhere("index_copy"),
       PythonSignature("Tensor self, int dim, Tensor index, Tensor source"),
       [](PythonCall& call) -> PythonValue {
         return index_copy(call.tensor("self"), call.integer("dim"), call.tensor("index"),
                           call.tensor("source"));
       }},
      {everywhere("index_fill", "int_Scalar"),
       PythonSignature("Tensor self, int dim, Tensor index, Scalar value"),
       [](PythonCall& call) -> PythonValue {
         return index_fill(call.tensor("self"), call.integer("dim"), call.tensor("index"),
                           call.real("value"));
       }},
      {everywhere("index_put"),
       PythonSignature("Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False"),
       [](PythonCall& call) -> PythonValue {
         return index_put(call.tensor("self"), call.tensors("indices"), call.tensor("values"),
                          call.flag("accumulate"));
       }},
  };
  for (PythonFunction& function : reading_functions()) functions.push_back(std::move(function));
  for (PythonFunction& function : view_writing_functions())
    functions.push_back(std::move(function));
  return functions;
}

}  // namespace simmesh
