#include <exception>

#include "core/check/error.h"
#include "python/bindings/bindings.h"

namespace simmesh::python {

namespace {

PyObject* exception_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::runtime_error: return PyExc_RuntimeError;
    case ErrorKind::value_error: return PyExc_ValueError;
    case ErrorKind::index_error: return PyExc_IndexError;
    case ErrorKind::key_error: return PyExc_KeyError;
    case ErrorKind::type_error: return PyExc_TypeError;
    case ErrorKind::assertion_error: return PyExc_AssertionError;
    case ErrorKind::not_implemented_error: return PyExc_NotImplementedError;
    case ErrorKind::attribute_error: return PyExc_AttributeError;
    case ErrorKind::zero_division_error: return PyExc_ZeroDivisionError;
  }
  return PyExc_RuntimeError;
}

}  // namespace

void bind_errors(nanobind::module_&) {
  nanobind::register_exception_translator([](const std::exception_ptr& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (const Error& error) {
      PyErr_SetString(exception_class(error.kind()), error.what());
    }
  });
}

}  // namespace simmesh::python
