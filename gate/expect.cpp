#include "gate/expect.h"

#include <fmt/format.h>

#include "gate/check_kind.h"
#include "gate/tables/mesh.h"

namespace simmesh {

std::string GateSameAs::name() const {
  if (!word.empty()) return "same_as " + word;
  return fmt::format("same_as {} on {}", parallel.form(), to_string(DimSpan(layout.shape)));
}

GateSameAs read_other_run(GateTable table, const ExpectUse& use) {
  GateSameAs other{.layout = read_gate_layout(table, "mesh", GateWorld().ranks_max())};
  if (auto parallel = table.table("parallel"))
    other.parallel = read_gate_parallel(*parallel, other.layout, use.model);
  table.finish();
  return other;
}

GateExpect read_gate_expect(GateTable& table, const ExpectUse& use) {
  GateExpect expect;
  for (const CheckKind* kind : CheckKind::all()) {
    if (use.world.shapes_only && kind->needs_data())
      for (std::string_view key : kind->keys())
        if (table.has(key)) table.reject(key, "no such key in a gate with world.shapes_only");
    kind->read(table, use, expect);
  }
  table.finish();
  return expect;
}

}  // namespace simmesh
