#include "verify/schema_walk.h"

#include "verify/schema_check.h"

namespace simmesh {

void for_each_spot(const Spot& spot, const std::function<void(const Spot&)>& visit) {
  visit(spot);
  const SchemaNode& node = *spot.schema;
  auto enter = [&](const nlohmann::json::json_pointer& at, const CaseField& value,
                   const Schema& schema) {
    return Spot{.at = at,
                .value = value,
                .schema = &schema_for(value, *schema),
                .is_result = spot.is_result,
                .why_idle = spot.why_idle};
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
          if (!field.why_idle.empty()) entry.why_idle = field.why_idle;
          entry.why_absent = field.why_absent;
          entry.why_fewer = field.why_fewer;
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

Spot whole_case(const RecordedCase& recorded, const SchemaNode& schema) {
  return {
      .at = nlohmann::json::json_pointer(), .value = recorded.root(), .schema = &schema.resolved()};
}

}  // namespace simmesh
