#pragma once

#include <nlohmann/json.hpp>

#include "replay/chakra/chakra_trace.h"
#include "verify/case_report.h"
#include "verify/schema.h"

namespace simmesh {

// chakra_feeder_fields are the further fields of a trace of Chakra in the form in which a
// simulator's feeder sees it: counts of nodes and of dependencies on nodes that aren't there, and
// each communication with its attributes.
// tests/cases/replay/README.md has an example.
schema::Fields chakra_feeder_fields();

// chakra_comm_schema describes one entry of comm_nodes.
Schema chakra_comm_schema();

// is_feeder is true for an entry in that form, which has all of these fields.
bool is_feeder(const CaseField& entry);

// compare_feeder compares those fields with a trace. `reachable` is the length of its order.
void compare_feeder(const CaseField& entry, const replay::ChakraTrace& trace, std::size_t reachable,
                    CaseReport& report);

// attributes_json returns attributes by name.
nlohmann::json attributes_json(const std::vector<replay::ChakraAttribute>& attributes);

}  // namespace simmesh
