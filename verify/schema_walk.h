#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// Spot is a value somewhere in a case, with its schema.
struct Spot {
  nlohmann::json::json_pointer at;
  CaseField value;
  const SchemaNode* schema;
  bool is_optional = false;  // a field that may be missing
  bool is_free = false;      // a field of an object that has any names
  bool is_result = false;    // it is part of what is compared
  // Why a change of it may change no result (Field::because); empty where it must.
  std::string_view why_idle = {};
  std::string_view why_absent = {};  // the same of leaving it out
  std::string_view why_fewer = {};   // and of leaving out an entry of a list
};

// for_each_spot calls `visit` for a value and for all values inside it, in order. The value must
// fit its schema.
void for_each_spot(const Spot& spot, const std::function<void(const Spot&)>& visit);

// whole_case returns the spot of a case, with the schema of its kind.
Spot whole_case(const RecordedCase& recorded, const SchemaNode& schema);

}  // namespace simmesh
