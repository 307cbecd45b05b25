#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/pytorch/ops/python_call.h"

namespace simmesh {

// PythonFunction is a function of PyTorch in terms of ours: its names ("torch.add Tensor.add
// aten.add.Tensor"), the signature they share, and what it does. Functions with overloads have an
// entry for each; the first whose signature fits is called.
struct PythonFunction {
  std::string names;
  PythonSignature signature;
  std::function<PythonValue(PythonCall& call)> call;
};
using PythonFunctions = std::vector<PythonFunction>;

// call_python calls the function of that name. Raises a NotImplementedError for a name that isn't
// known, and a TypeError that names the argument where no signature fits.
PythonValue call_python(std::string_view function, const PythonArguments& arguments);

// tensors_of_call returns the tensors among the arguments in the order of the function's
// parameters; raises as call_python does.
std::vector<Tensor> tensors_of_call(std::string_view function, const PythonArguments& arguments);

// knows_python says whether there is a function of that name. torch.ops.aten.X is aten.X.
bool knows_python(std::string_view function);

// everywhere returns the names of a function of torch, of the method of that name, and of the
// operators with the overloads: ("add", "Tensor Scalar") has aten.add.Tensor.
std::string everywhere(std::string_view name, std::string_view overloads = "default");

// The functions, family by family; each is one source file.
PythonFunctions pointwise_functions();
PythonFunctions binary_functions();
PythonFunctions inplace_functions();
PythonFunctions reduction_functions();
PythonFunctions ordering_functions();
PythonFunctions matrix_functions();
PythonFunctions view_functions();
PythonFunctions joining_functions();
PythonFunctions indexing_functions();
PythonFunctions creation_functions();
PythonFunctions neural_functions();
PythonFunctions normalization_functions();
PythonFunctions loss_functions();
PythonFunctions list_functions();
PythonFunctions backward_functions();

}  // namespace simmesh
