#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/check/check.h"
#include "sharding/redistribute/planner.h"

namespace simmesh::recorded {

using Json = nlohmann::json;

// read returns the cases of a file below tests/cases/pytorch.
inline std::vector<Json> read(const std::string& name) {
  std::ifstream file(std::string(SIMMESH_SOURCE_DIR "/tests/cases/pytorch/") + name);
  SIMMESH_CHECK(file.good(), "can't open the recorded cases {}", name);
  std::vector<Json> cases;
  for (std::string line; std::getline(file, line);) cases.push_back(Json::parse(line));
  return cases;
}

inline Dims dims(const Json& list) {
  Dims result;
  for (const Json& each : list) result.push_back(each.get<std::int64_t>());
  return result;
}

inline Placements placements(const Json& list) {
  Placements result;
  for (const Json& each : list) result.push_back(parse_placement(each.get<std::string>()));
  return result;
}

inline Json words(PlacementSpan list) {
  Json result = Json::array();
  for (const Placement& each : list) result.push_back(to_string(each));
  return result;
}

inline ShardOrder order(const Json& entries, PlacementSpan list) {
  std::vector<ShardOrder::Entry> result;
  for (const Json& entry : entries)
    result.push_back({entry[0].get<std::int64_t>(), dims(entry[1])});
  return ShardOrder::of(std::move(result), list);
}

// requests returns the requests of a plan or redistribute case: one for each planner that it names.
inline std::vector<PlanRequest> requests(const Json& record) {
  PlanRequest request;
  request.release = Release::v2_13;
  request.shape = dims(record["tensor"]["shape"]);
  request.dtype = dtype_from_string(record["tensor"]["dtype"].get<std::string>());
  request.mesh_shape = dims(record["mesh"]["shape"]);
  request.from = placements(record["from"]);
  request.to = placements(record["to"]);
  if (record.contains("from_order")) request.from_order = order(record["from_order"], request.from);
  if (record.contains("to_order")) request.to_order = order(record["to_order"], request.to);
  if (record.contains("flattened"))
    for (const Json& mesh : record["flattened"]) request.flattened.push_back(dims(mesh));
  if (record.contains("devices_per_host"))
    request.topology.devices_per_host = record["devices_per_host"].get<std::int64_t>();
  std::vector<PlanRequest> result;
  const auto planner = record["planner"].get<std::string>();
  request.planner = PlannerChoice::greedy;
  if (planner != "graph") result.push_back(request);
  request.planner = PlannerChoice::graph;
  if (planner != "greedy") result.push_back(request);
  return result;
}

// steps writes a plan as the cases do.
inline Json steps(const Plan& plan) {
  Json result = Json::array();
  for (const PlanStep& step : plan.steps) {
    Json each = {
        {"mesh_dims", std::vector<std::int64_t>(step.mesh_dims.begin(), step.mesh_dims.end())},
        {"from", to_string(step.from)},
        {"to", to_string(step.to)},
        {"after", words(step.after.placements)}};
    if (step.merged) each["merged"] = true;
    if (step.divide_by != 1) each["divide_by"] = step.divide_by;
    result.push_back(std::move(each));
  }
  return result;
}

}  // namespace simmesh::recorded
