#include "replay/read/json_values.h"

namespace simmesh::replay {

namespace {

namespace ondemand = simdjson::ondemand;

void read_number(ondemand::value& json, JsonValues::Value& value) {
  ondemand::number number = json.get_number();
  if (number.is_int64()) {
    value.kind = JsonValues::Kind::integer;
    value.integer = number.get_int64();
  } else {
    value.kind = JsonValues::Kind::real;
  }
}

}  // namespace

JsonValues::Index JsonValues::add(ondemand::value json, std::size_t depth) {
  if (depth > depth_max) throw simdjson::simdjson_error(simdjson::DEPTH_ERROR);
  auto index = Index(values_.size());
  values_.emplace_back();
  Value value;
  switch (json.type().value()) {
    case ondemand::json_type::array:
      value.kind = Kind::list;
      for (ondemand::value entry : json.get_array()) add(entry, depth + 1);
      break;
    case ondemand::json_type::object: value.kind = Kind::object; break;
    case ondemand::json_type::number: read_number(json, value); break;
    case ondemand::json_type::string:
      value.kind = Kind::text;
      value.text = json.get_string();
      break;
    case ondemand::json_type::boolean:
      value.kind = Kind::boolean;
      value.integer = json.get_bool();
      break;
    case ondemand::json_type::null:
      if (!json.is_null()) throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
      break;
  }
  value.end = Index(values_.size());
  values_[index] = value;
  return index;
}

std::size_t JsonValues::size(Index list) const {
  std::size_t count = 0;
  for (Index entry = first(list); entry != end(list); entry = next(entry)) ++count;
  return count;
}

bool JsonValues::integers(Index list, std::vector<std::int64_t>& numbers) const {
  if (!is(list, Kind::list)) return false;
  std::size_t before = numbers.size();
  for (Index entry = first(list); entry != end(list); entry = next(entry)) {
    if (!is(entry, Kind::integer)) {
      numbers.resize(before);
      return false;
    }
    numbers.push_back(values_[entry].integer);
  }
  return true;
}

}  // namespace simmesh::replay
