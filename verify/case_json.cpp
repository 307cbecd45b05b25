#include "verify/case_json.h"

#include <fmt/format.h>

namespace simmesh {

using Json = nlohmann::json;

Schema by_rank_schema(const Schema& value) {
  using namespace schema;
  return either({object({expected("by_rank", list(value, {.min = 1}))}), value});
}

void require_ranks(const CaseField& field, std::int64_t world) {
  if (field.is_list())
    for (const CaseField& entry : field.items()) require_ranks(entry, world);
  if (!field.is_object()) return;
  auto ranks = field.find("by_rank");
  if (ranks && std::int64_t(ranks->size()) != world)
    ranks->reject(fmt::format("one entry for each of {} ranks", world));
  for (const std::string& key : field.keys()) require_ranks(field[key], world);
}

Json of_rank(const Json& value, std::size_t rank) {
  if (value.is_object() && value.size() == 1 && value.contains("by_rank"))
    return value["by_rank"].at(rank);
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
    for (auto& [key, value] : actual.items())
      if (!expected.contains(key))
        report.mismatch(fmt::format("{}.{}: expected nothing, got {}", who, key, value.dump()));
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
