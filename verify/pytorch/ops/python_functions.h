#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/pytorch/ops/python_call.h"

namespace simmesh {

// PythonFunction is a function of PyTorch in terms of ours: its names ("torch.add Tensor.add
// aten.add.Tensor"), the signature that they share, and its computation. Functions with overloads
// have an entry for each; the first whose signature fits is called.
struct PythonFunction {
  std::string names;
  PythonSignature signature;
  std::function<PythonValue(PythonCall& call)> call;
};
using PythonFunctions = std::vector<PythonFunction>;

// PythonFamily is the functions of one family of ops. An object of it at namespace scope makes them
// known. The functions of core/ops/reductions/sums.h are in verify/pytorch/ops/reductions/sums.cpp,
// and so on; nothing else names such a source. A name may have overloads in one family only.
class PythonFamily {
 public:
  explicit PythonFamily(PythonFunctions (*functions)());
  PythonFamily(const PythonFamily&) = delete;
  PythonFamily& operator=(const PythonFamily&) = delete;

  // all returns the functions of each family, in no particular order.
  static std::vector<PythonFunctions> all();

 private:
  PythonFunctions (*functions_)();
  const PythonFamily* next_;
};

// call_python calls the function of that name. Raises a NotImplementedError for an unknown name,
// and a TypeError that names the argument if no signature fits; for complex tensors (see
// complex_pairs.h) a NotImplementedError in both cases.
//
// With `move`, the call is made with other tensors: move gets those of the call, in the order of
// tensors_of_call, and may replace them.
using MoveTensors = std::function<void(gsl::span<Tensor> tensors)>;
PythonValue call_python(std::string_view function, const PythonArguments& arguments,
                        const MoveTensors& move = nullptr);

// tensors_of_call returns the tensors among the arguments, in the order of the function's
// parameters. Raises the errors of call_python.
std::vector<Tensor> tensors_of_call(std::string_view function, const PythonArguments& arguments);

// knows_python is true if there is a function of that name. torch.ops.aten.X is aten.X.
bool knows_python(std::string_view function);

// everywhere returns the names of a function of torch, of the method of that name, and of the
// operators with the overloads: ("add", "Tensor Scalar") has aten.add.Tensor.
std::string everywhere(std::string_view name, std::string_view overloads = "default");

}  // namespace simmesh
