#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "verify/recorded_case.h"
#include "verify/schema.h"
#include "verify/schema_check.h"

namespace simmesh::testing {

// Spot is a value somewhere in a case, with its schema.
struct Spot {
  nlohmann::json::json_pointer at;
  CaseField value;
  const SchemaNode* schema;
  bool is_optional = false;  // a field that may be missing
  bool is_free = false;      // a field of an object that has any names
  bool is_result = false;    // it is part of what is compared
};

// for_each_spot calls `visit` for a value and for all values inside it, in order.
inline void for_each_spot(const Spot& spot, const std::function<void(const Spot&)>& visit) {
  visit(spot);
  const SchemaNode& node = *spot.schema;
  auto enter = [&](const nlohmann::json::json_pointer& at, const CaseField& value,
                   const Schema& schema) {
    return Spot{.at = at,
                .value = value,
                .schema = &schema_for(value, *schema),
                .is_result = spot.is_result};
  };
  std::size_t index = 0;
  switch (node.type) {
    case SchemaNode::Type::list:
    case SchemaNode::Type::tuple:
      for (const CaseField& entry : spot.value.items()) {
        const Schema& part = node.parts[node.type == SchemaNode::Type::tuple ? index : 0];
        for_each_spot(enter(spot.at / index++, entry, part), visit);
      }
      return;
    case SchemaNode::Type::map:
      for (const std::string& name : spot.value.keys()) {
        Spot entry = enter(spot.at / name, spot.value[name], node.parts[0]);
        entry.is_free = true;
        for_each_spot(entry, visit);
      }
      return;
    case SchemaNode::Type::object: {
      auto walk_fields = [&](const schema::Fields& fields) {
        for (const schema::Field& field : fields) {
          auto value = spot.value.find(field.name);
          if (!value) continue;
          Spot entry = enter(spot.at / field.name, *value, field.value);
          entry.is_optional = field.is_optional;
          entry.is_result |= field.is_expected;
          for_each_spot(entry, visit);
        }
      };
      walk_fields(node.fields);
      for (const schema::Choice& choice : node.choices) {
        bool is_chosen = node.tag.empty() ? spot.value.has(choice.word)
                                          : spot.value[node.tag].text() == choice.word;
        if (is_chosen) walk_fields(choice.fields);
      }
      return;
    }
    default: return;
  }
}

}  // namespace simmesh::testing
