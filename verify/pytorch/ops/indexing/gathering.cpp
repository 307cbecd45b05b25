#include "core/ops/indexing/gathering.h"

#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonValue embedding_call(PythonCall& call) {
  std::optional<std::int64_t> padding = call.integer_if("padding_idx");
  if (padding && *padding < 0) *padding += call.tensor("weight").size(0);
  return embedding(call.tensor("weight"), call.tensor("input"), padding);
}

PythonFunctions gathering_functions() {
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
      {everywhere("take"), PythonSignature("Tensor self, Tensor index"),
       [](PythonCall& call) -> PythonValue {
         return take(call.tensor("self"), call.tensor("index"));
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
      {"aten.embedding_dense_backward.default",
       PythonSignature("Tensor grad_output, Tensor indices, int num_weights, int padding_idx, "
                       "bool scale_grad_by_freq"),
       [](PythonCall& call) -> PythonValue {
         return embedding_dense_backward(
             call.tensor("grad_output"), call.tensor("indices"),
             {.count = call.integer("num_weights"), .padding_idx = call.integer("padding_idx")});
       }},
  };
}

const PythonFamily gathering_family(gathering_functions);

}  // namespace

}  // namespace simmesh
