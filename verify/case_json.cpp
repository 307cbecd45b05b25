#include "verify/case_json.h"

#include <fmt/format.h>

namespace simmesh {

using Json = nlohmann::json;

Json of_rank(const Json& value, std::size_t rank) {
  if (value.is_object() && value.size() == 1 && value.contains("by_rank"))
    return rank < value["by_rank"].size() ? value["by_rank"][rank] : Json();
  if (!value.is_structured()) return value;
  Json result = value;
  for (auto& entry : result) entry = of_rank(entry, rank);
  return result;
}

void expect_same(CaseReport& report, const std::string& who, const Json& expected,
                 const Json& actual) {
  if (expected.is_object() && actual.is_object()) {
    for (auto& [key, value] : expected.items())
      expect_same(report, fmt::format("{}.{}", who, key), value, actual.value(key, Json()));
    return;
  }
  bool is_list = expected.is_array() && actual.is_array() && expected.size() == actual.size();
  if (is_list && !expected.empty() && expected[0].is_structured()) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_same(report, fmt::format("{}[{}]", who, i), expected[i], actual[i]);
    return;
  }
  if (expected != actual)
    report.mismatch(fmt::format("{}: expected {}, got {}", who, expected.dump(), actual.dump()));
}

}  // namespace simmesh
