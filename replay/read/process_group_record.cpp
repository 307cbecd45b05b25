#include "replay/read/process_group_record.h"

#include <simdjson.h>
#include <string>

namespace simmesh::replay {

namespace {

namespace dom = simdjson::dom;

// A group's name was a number for a while.
std::string text_of(const dom::element& value) {
  if (value.is_string()) return std::string(std::string_view(value));
  return simdjson::minify(value);
}

ProcessGroupRecord read_group(dom::object fields) {
  ProcessGroupRecord group;
  for (auto [key, value] : fields) {
    if (key == "pg_name") group.name = text_of(value);
    if (key == "pg_desc") {
      group.description = text_of(value);
      group.has_description = true;
    }
    if (key == "backend_config") group.backend = text_of(value);
    if (key == "group_size") group.size = value.get_int64();
    if (key == "group_count") group.count = value.get_int64();
    if (key != "ranks") continue;
    for (dom::element rank : value.get_array()) group.ranks.push_back(rank.get_int64());
  }
  return group;
}

}  // namespace

std::vector<ProcessGroupRecord> read_process_groups(std::string_view text) {
  dom::parser parser;
  std::vector<ProcessGroupRecord> groups;
  for (dom::element group : parser.parse(text).get_array()) groups.push_back(read_group(group));
  return groups;
}

}  // namespace simmesh::replay
