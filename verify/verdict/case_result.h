#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/check/json_value.h"
#include "verify/verdict/case_place.h"

namespace simmesh {

// CaseResult is what came of one case.
struct CaseResult {
  std::string id;
  std::string kind;
  CasePlace place;
  std::vector<std::string> mismatches;  // the first few
  std::int64_t mismatch_count = 0;      // 0: the case holds
  std::string reproduce;                // the command line of a case that doesn't hold
  std::optional<std::string> cheaper;   // it holds by a cheaper plan than the recorded one: both
  bool is_beyond = false;               // it holds by a result where a refusal is recorded
  std::optional<std::uint64_t> data_hash;
  std::optional<std::uint64_t> schedule_hash;

  bool failed() const { return mismatch_count > 0; }
};

// to_json returns a result so that case_result_from reads it.
JsonValue to_json(const CaseResult& result);

// case_result_from raises a ValueError for a value that to_json doesn't return.
CaseResult case_result_from(const JsonValue& value);

}  // namespace simmesh
