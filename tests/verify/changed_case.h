#pragma once

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/expect_error.h"
#include "verify/case_files.h"
#include "verify/verify.h"

// Recorded cases with one thing changed: the verifier must name it.
namespace simmesh::testing {

using Pointer = nlohmann::json::json_pointer;

// recorded_values returns the cases of a file below tests/cases/pytorch as JSON.
inline std::vector<nlohmann::json> recorded_values(const std::string& file) {
  std::vector<std::string> paths{SIMMESH_SOURCE_DIR "/tests/cases/pytorch/" + file};
  std::vector<nlohmann::json> values;
  for (const RecordedCase& recorded :
       load_cases(paths, [](const RecordedCase&) { return true; }).cases)
    values.push_back(recorded.root().value());
  return values;
}

// first_with returns the first case for which `wanted` holds.
template <class F>
nlohmann::json first_with(const std::string& file, F wanted) {
  for (const nlohmann::json& value : recorded_values(file))
    if (wanted(value)) return value;
  ADD_FAILURE() << "no such case in " << file;
  return {};
}

// verify_value verifies a case as if it stood beside the files of tests/cases/checkpoint.
inline CaseReport verify_value(const nlohmann::json& value, const VerifyOptions& options = {}) {
  std::string file = SIMMESH_SOURCE_DIR "/tests/cases/checkpoint/cases.jsonl";
  return verify_case(RecordedCase::parse(value.dump(), {.file = file, .line = 3}), options);
}

// expect_passes expects that a case holds.
inline void expect_passes(const nlohmann::json& value) {
  EXPECT_THAT(verify_value(value).mismatches(), ::testing::IsEmpty()) << value["id"];
}

// expect_fails changes the value at `path`; the case must fail with a text that has the phrase.
inline void expect_fails(nlohmann::json value, const std::string& path, const nlohmann::json& wrong,
                         const std::string& phrase) {
  value[Pointer(path)] = wrong;
  EXPECT_THAT(verify_value(value).mismatches(), ::testing::Contains(::testing::HasSubstr(phrase)))
      << path;
}

// expect_bad changes the value at `path`; the case can't be read then, and the text says where.
inline void expect_bad(nlohmann::json value, const char* path, const nlohmann::json& wrong,
                       const std::string& phrase) {
  value[Pointer(path)] = wrong;
  SCOPED_TRACE(path);
  expect_error<BadCase>([&] { verify_value(value); }, ErrorKind::value_error, phrase);
  EXPECT_THAT(error_text([&] { verify_value(value); }), ::testing::HasSubstr("cases.jsonl:3"));
}

}  // namespace simmesh::testing
