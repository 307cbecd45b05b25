#pragma once

#include "tests/verify/changed_case.h"

namespace simmesh::testing {

// typed_case returns the case of that id from a file below tests/cases/spmd_types.
inline nlohmann::json typed_case(const std::string& file, const std::string& id) {
  return first_with("../spmd_types/" + file,
                    [&](const nlohmann::json& value) { return value["id"] == id; });
}

// expect_refuted expects that a case fails with a counter-example that has the phrase.
inline void expect_refuted(const std::string& id, const std::string& phrase) {
  EXPECT_THAT(verify_value(typed_case("disputed.jsonl", id)).mismatches(),
              ::testing::Contains(
                  ::testing::AllOf(::testing::HasSubstr("refuted"), ::testing::HasSubstr(phrase))))
      << id;
}

}  // namespace simmesh::testing
