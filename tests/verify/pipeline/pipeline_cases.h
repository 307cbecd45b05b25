#pragma once

#include "tests/verify/changed_case.h"

namespace simmesh::testing {

// pipeline_case returns the first case of a file below tests/cases/pipeline for which `wanted`
// holds.
template <class F>
nlohmann::json pipeline_case(const std::string& file, F wanted) {
  return first_with("../pipeline/" + file, wanted);
}

}  // namespace simmesh::testing
