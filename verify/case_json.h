#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "verify/case_report.h"

namespace simmesh {

// of_rank returns a recorded value with each {"by_rank": [..]} replaced by the rank's entry.
nlohmann::json of_rank(const nlohmann::json& value, std::size_t rank);

// expect_same compares all that is expected with what came, entry by entry.
void expect_same(CaseReport& report, const std::string& who, const nlohmann::json& expected,
                 const nlohmann::json& actual);

}  // namespace simmesh
