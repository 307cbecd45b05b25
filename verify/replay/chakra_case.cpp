#include "verify/replay/chakra_case.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "verify/case_json.h"
#include "verify/replay/chakra_feeder.h"

namespace simmesh {

namespace {

// Returns the attributes of the metadata, with the version where it is recorded so.
std::set<std::string> metadata_names(const replay::ChakraSummary& summary) {
  std::set<std::string> names;
  for (const replay::ChakraAttribute& attribute : summary.metadata) names.insert(attribute.name);
  return names;
}

void compare_metadata(const CaseField& entry, const replay::ChakraSummary& summary,
                      CaseReport& report) {
  bool has_one = !summary.version.empty() || !summary.metadata.empty();
  if (entry.is_integer()) {
    report.expect_equal("metadata", entry.integer(), std::int64_t(has_one));
  } else if (entry.is_boolean()) {
    report.expect_equal("metadata", entry.boolean(), has_one);
  } else if (entry.is_text()) {
    report.expect_equal("metadata", entry.text(), summary.version);
  } else if (entry.is_object() && entry.has("attrs")) {
    nlohmann::json actual = {{"version", summary.version},
                             {"attrs", attributes_json(summary.metadata)}};
    expect_same(report, "metadata", entry.value(), actual);
  } else {
    std::vector<std::string> recorded = entry.is_list() ? entry.texts() : entry.keys();
    std::set<std::string> expected(recorded.begin(), recorded.end());
    if (entry.is_object() && entry.has("version"))
      report.expect_equal("metadata: version", entry["version"].text(), summary.version);
    expected.erase("version");
    expected.erase("attr");
    report.expect_equal("metadata", expected, metadata_names(summary));
  }
}

void compare_node_types(const CaseField& entry, const replay::ChakraSummary& summary,
                        CaseReport& report) {
  std::map<std::string, std::int64_t> expected, actual;
  bool has_numbers = false;
  for (const std::string& key : entry.keys()) {
    has_numbers |= key.find_first_not_of("0123456789") == std::string::npos;
    expected[key] = entry[key].integer();
  }
  for (auto [type, count] : summary.node_types)
    actual[has_numbers ? fmt::format("{}", int(type)) : to_string(type)] = count;
  report.expect_equal("node_types", expected, actual);
}

void compare_attr_names(const CaseField& entry, const replay::ChakraSummary& summary,
                        CaseReport& report) {
  if (entry.is_object()) {
    std::map<std::string, std::int64_t> expected;
    for (const std::string& key : entry.keys()) expected[key] = entry[key].integer();
    report.expect_equal("attr_names", expected, summary.attr_names);
    return;
  }
  std::vector<std::string> expected = entry.texts(), actual;
  for (const auto& [name, count] : summary.attr_names) actual.push_back(name);
  std::sort(expected.begin(), expected.end());
  report.expect_equal("attr_names", expected, actual);
}

void compare_order(const CaseField& entry, const replay::ChakraSummary& summary,
                   CaseReport& report) {
  std::vector<std::int64_t> expected = entry.integers(), actual;
  for (std::size_t i = 0; i < std::min(expected.size(), summary.order.size()); ++i)
    actual.push_back(std::int64_t(summary.order[i]));
  report.expect_equal("order_head", expected, actual);
}

}  // namespace

schema::Fields chakra_summary_fields() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Fields fields = {
      expected("messages", count),
      expected("metadata", either({count, flag(), any_text(), list(any_text()), map(any())}))
          .or_absent(),
      expected("node_types", map(count)),
      expected("ctrl_deps", count),
      expected("data_deps", count),
      expected("attr_names", either({list(text()), map(count)})),
      expected("dur_sum_us", count),
      expected("cpu_ops", count),
      expected("comm_nodes", either({count, list(chakra_comm_schema())})),
      expected("order_head", list(count)).or_fewer("order_hash has the whole order"),
      expected("order_hash", text())};
  for (const Field& field : chakra_feeder_fields()) fields.push_back(field);
  return fields;
}

bool is_chakra(const CaseField& entry) { return entry.has("messages"); }

void compare_chakra(const CaseField& entry, const replay::ChakraSummary& summary,
                    CaseReport& report) {
  report.expect_equal("messages", entry["messages"].integer(), summary.messages);
  if (auto metadata = entry.find("metadata")) compare_metadata(*metadata, summary, report);
  compare_node_types(entry["node_types"], summary, report);
  report.expect_equal("ctrl_deps", entry["ctrl_deps"].integer(), summary.ctrl_deps);
  report.expect_equal("data_deps", entry["data_deps"].integer(), summary.data_deps);
  compare_attr_names(entry["attr_names"], summary, report);
  report.expect_equal("dur_sum_us", entry["dur_sum_us"].unsigned64(), summary.dur_sum_us);
  report.expect_equal("cpu_ops", entry["cpu_ops"].integer(), summary.cpu_ops);
  if (entry["comm_nodes"].is_integer())
    report.expect_equal("comm_nodes", entry["comm_nodes"].integer(), summary.comm_nodes);
  compare_order(entry["order_head"], summary, report);
  report.expect_equal("order_hash", entry["order_hash"].text(), summary.order_hash);
}

}  // namespace simmesh
