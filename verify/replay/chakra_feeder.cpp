#include "verify/replay/chakra_feeder.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "verify/case_json.h"

namespace simmesh {

namespace {

constexpr const char* feeder_counts[] = {"nodes",    "unique_ids",        "min_id",
                                         "max_id",   "missing_data_deps", "missing_ctrl_deps",
                                         "zero_dur", "reachable_in_order"};

nlohmann::json value_json(const replay::ChakraValue& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          return nullptr;
        else
          return held;
      },
      value);
}

// Returns the counts of a trace, in the order of feeder_counts.
std::vector<std::uint64_t> counts_of(const replay::ChakraTrace& trace, std::size_t reachable) {
  std::set<std::uint64_t> ids;
  for (const replay::ChakraNode& node : trace.nodes) ids.insert(node.id);
  auto missing = [&](const std::vector<std::uint64_t>& deps) {
    return std::uint64_t(std::count_if(deps.begin(), deps.end(),
                                       [&](std::uint64_t id) { return ids.count(id) == 0; }));
  };
  std::uint64_t data = 0, ctrl = 0, zero = 0;
  for (const replay::ChakraNode& node : trace.nodes) {
    data += missing(node.data_deps);
    ctrl += missing(node.ctrl_deps);
    zero += node.duration_us == 0;
  }
  return {trace.nodes.size(),
          ids.size(),
          ids.empty() ? 0 : *ids.begin(),
          ids.empty() ? 0 : *ids.rbegin(),
          data,
          ctrl,
          zero,
          reachable};
}

// A case may write a type by its number or by its name.
nlohmann::json type_json(const CaseField& entry, replay::ChakraNodeType type) {
  if (entry["type"].is_integer()) return std::int64_t(type);
  return to_string(type);
}

}  // namespace

Schema chakra_comm_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  return object({expected("id", count), expected("name", any_text()),
                 expected("type", either({count, text()})), expected("start", count),
                 expected("dur", count), expected("attrs", map(any()))});
}

schema::Fields chakra_feeder_fields() {
  using namespace schema;
  Fields fields = {label("form", text())};
  for (const char* name : feeder_counts)
    fields.push_back(expected(name, integer({.min = 0})).or_absent());
  return fields;
}

bool is_feeder(const CaseField& entry) {
  bool has_any = std::any_of(std::begin(feeder_counts), std::end(feeder_counts),
                             [&](const char* name) { return entry.has(name); });
  has_any = has_any || entry["comm_nodes"].is_list() || entry.has("form");
  if (!has_any) return false;
  for (const char* name : feeder_counts)
    if (!entry.has(name)) entry.reject(fmt::format("a field '{}'", name));
  if (!entry.has("metadata")) entry.reject("a field 'metadata'");
  if (!entry["comm_nodes"].is_list()) entry["comm_nodes"].reject("a list of communications");
  return true;
}

void compare_feeder(const CaseField& entry, const replay::ChakraTrace& trace, std::size_t reachable,
                    CaseReport& report) {
  std::vector<std::uint64_t> counts = counts_of(trace, reachable);
  for (std::size_t i = 0; i < counts.size(); ++i)
    report.expect_equal(feeder_counts[i], entry[feeder_counts[i]].unsigned64(), counts[i]);
  std::vector<CaseField> comms = entry["comm_nodes"].items();
  std::vector<const replay::ChakraNode*> nodes;
  for (const replay::ChakraNode& node : trace.nodes)
    if (node.is_comm()) nodes.push_back(&node);
  if (!report.expect_equal("number of communications", comms.size(), nodes.size())) return;
  for (std::size_t i = 0; i < comms.size(); ++i) {
    const replay::ChakraNode& node = *nodes[i];
    nlohmann::json actual = {{"id", node.id},
                             {"name", node.name},
                             {"type", type_json(comms[i], node.type)},
                             {"start", node.start_us},
                             {"dur", node.duration_us},
                             {"attrs", attributes_json(node.attributes)}};
    expect_same(report, fmt::format("communication {}", i), comms[i].value(), actual);
  }
}

nlohmann::json attributes_json(const std::vector<replay::ChakraAttribute>& attributes) {
  nlohmann::json values = nlohmann::json::object();
  for (const replay::ChakraAttribute& attribute : attributes)
    values[attribute.name] = value_json(attribute.value);
  return values;
}

}  // namespace simmesh
