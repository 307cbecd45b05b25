#include "core/ops/neural/softmax.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using SoftmaxOf = Tensor (*)(const Tensor& x, std::int64_t dim, std::optional<DType> dtype);

void add_softmax(PythonFunctions& functions, const std::string& name, SoftmaxOf function) {
  functions.push_back({"torch.nn.functional." + name + " torch." + name + " Tensor." + name +
                           " aten." + name + ".int",
                       PythonSignature("Tensor self, int dim, *, dtype? dtype=None"),
                       [=](PythonCall& call) -> PythonValue {
                         return function(call.tensor("self"), call.integer("dim"),
                                         call.dtype("dtype"));
                       }});
  functions.push_back({"aten._" + name + ".default",
                       PythonSignature("Tensor self, int dim, bool half_to_float"),
                       [=](PythonCall& call) -> PythonValue {
                         return function(call.tensor("self"), call.integer("dim"), {});
                       }});
}

PythonFunctions softmax_functions() {
  PythonFunctions functions;
  add_softmax(functions, "softmax", softmax);
  add_softmax(functions, "log_softmax", log_softmax);
  return functions;
}

const PythonFamily softmax_family(softmax_functions);

}  // namespace

}  // namespace simmesh
