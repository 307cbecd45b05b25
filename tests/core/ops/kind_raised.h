#pragma once

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh {

// kind_raised returns the kind of the Error that f raises; a test failure where it raises none.
template <class F>
ErrorKind kind_raised(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was raised";
  return ErrorKind::assertion_error;
}

}  // namespace simmesh
