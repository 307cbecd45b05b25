#include "gate/tables/world.h"

namespace simmesh {

GateWorld read_gate_world(GateTable& table) {
  GateWorld world;
  std::vector<std::string> names;
  for (Release release : releases) names.emplace_back(to_string(release));
  world.release =
      parse_release(table.word("release", std::string(to_string(world.release)), names));
  world.shapes_only = table.boolean("shapes_only", world.shapes_only);
  world.fold = table.boolean("fold", world.fold);
  world.seats_are_processes = table.word("seats", "fibers", {"fibers", "processes"}) == "processes";
  table.finish();
  if (world.seats_are_processes && world.shapes_only)
    table.reject_value("seats", "\"fibers\" with shapes_only = true",
                       "\"processes\", which share out data: there is none");
  if (world.fold && !world.shapes_only)
    table.reject_value("fold", "shapes_only = true with it",
                       "fold alone: ranks that aren't run have no data to give");
  return world;
}

}  // namespace simmesh
