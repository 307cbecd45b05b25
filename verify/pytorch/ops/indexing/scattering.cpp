#include "core/ops/indexing/scattering.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions scattering_functions() {
  return {
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
  };
}

const PythonFamily scattering_family(scattering_functions);

}  // namespace

}  // namespace simmesh
