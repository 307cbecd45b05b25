#include "core/ops/elementwise/complex.h"

#include "core/check/error.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/aliases.h"
#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/complex_pairs.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

std::string of_pairs_everywhere(std::string_view name, std::string_view overloads = "default") {
  return of_complex(everywhere(name, overloads));
}

Tensor real_part(const Tensor& z) { return select(view_as_real(z), -1, 0); }
Tensor imaginary_part(const Tensor& z) { return select(view_as_real(z), -1, 1); }
Tensor sum_of_pairs(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor difference_of_pairs(const Tensor& a, const Tensor& b) { return sub(a, b); }

// A plain number of two parts isn't one element, so it would not be taken as replicated.
PythonFunction of_two_complex(std::string_view name,
                              Tensor (*function)(const Tensor& a, const Tensor& b)) {
  return {of_pairs_everywhere(name, "Tensor"), PythonSignature("Tensor self, Tensor other"),
          [=](PythonCall& call) -> PythonValue {
            Tensor a = call.tensor("self"), b = call.tensor("other");
            if (!a.distribution() != !b.distribution())
              raise(ErrorKind::not_implemented_error, "verify/pytorch",
                    "complex tensors: expected two distributed tensors, or two plain ones, got "
                    "one of each");
            return function(a, b);
          }};
}

PythonFunctions complex_functions() {
  return {
      of_tensor(of_pairs_everywhere("view_as_real"), view_as_real),
      of_tensor(of_pairs_everywhere("real"), real_part),
      of_tensor(of_pairs_everywhere("imag"), imaginary_part),
      of_tensor(of_pairs_everywhere("abs"), complex_abs),
      of_tensor(of_pairs_everywhere("absolute"), complex_abs),
      of_tensor(of_pairs_everywhere("conj"), complex_conj),
      of_tensor(of_pairs_everywhere("conj_physical"), complex_conj),
      of_tensor(of_pairs_everywhere("neg"), neg),
      of_tensor(of_pairs_everywhere("negative"), neg),
      of_two_complex("add", sum_of_pairs),
      of_two_complex("sub", difference_of_pairs),
      of_two_complex("mul", complex_mul),
  };
}

const PythonFamily complex_family(complex_functions);

}  // namespace

}  // namespace simmesh
