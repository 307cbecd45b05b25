#include "gate/gate_checkpoint.h"

#include <fmt/format.h>

namespace simmesh {

std::string GateCheckpoint::name() const {
  return fmt::format("resume on {}", to_string(DimSpan(resume_on.layout.shape)));
}

GateCheckpoint read_gate_checkpoint(GateTable& table, const ExpectUse& use) {
  GateCheckpoint checkpoint;
  if (use.steps < 2)
    table.reject("save_at", "no such table in a gate of one step, which has none to go on with");
  checkpoint.save_at = table.integer("save_at", 1, {1, use.steps - 1});
  if (auto other = table.table("resume_on"))
    checkpoint.resume_on = read_other_run(*other, use);
  else
    checkpoint.resume_on = {.layout = use.layout, .parallel = use.parallel};
  table.finish();
  return checkpoint;
}

}  // namespace simmesh
