#include "python/bindings/torch/form_call.h"

namespace nb = nanobind;

namespace simmesh::python {

nb::object FormCall::call_torch() const {
  PyObject* result = PyObject_Call(torchs.ptr(), args.ptr(), options.ptr());
  if (!result) nb::raise_python_error();
  return nb::steal(result);
}

}  // namespace simmesh::python
