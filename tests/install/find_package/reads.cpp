// Reads a gate, and looks for a kind of recorded cases: kinds make themselves known, so all of the
// library must be linked.
#include <fmt/core.h>

#include <simmesh/gate/file.h>
#include <simmesh/verify/case_kind.h>

using namespace simmesh;

int main() {
  GateFile gate = gate_from_text("[mesh]\nshape = [4]\n", "gate.toml");
  const CaseKind* kind = CaseKind::find("redistribute");
  fmt::print("{} {}\n", gate.ranks(), kind ? kind->name() : "no such kind");
}
