#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "verify/case_report.h"
#include "verify/schema.h"

namespace simmesh {

// by_rank_schema is a value, or {"by_rank": [..]} with one for each rank.
Schema by_rank_schema(const Schema& value);

// require_ranks raises a BadCase where a {"by_rank": [..]} at any depth has not `world` entries.
void require_ranks(const CaseField& field, std::int64_t world);

// of_rank returns a recorded value with each {"by_rank": [..]} replaced by the rank's entry.
nlohmann::json of_rank(const nlohmann::json& value, std::size_t rank);

// expect_same compares the expected entries with the actual ones, one by one and in both
// directions.
void expect_same(CaseReport& report, const std::string& who, const nlohmann::json& expected,
                 const nlohmann::json& actual);

}  // namespace simmesh
