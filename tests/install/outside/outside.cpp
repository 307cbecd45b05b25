// Trains nothing: redistributes a tensor over eight ranks, and reads a gate and a recorded case.
#include <fmt/core.h>

#include <simmesh/gate/gate_file.h>
#include <simmesh/simmesh.h>
#include <simmesh/verify/recorded_case.h>

using namespace simmesh;

int main() {
  World world({.ranks = 8, .schedule = Schedule::seeded(42)});
  Outcome outcome = world.run([](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 4}, {"dp", "tp"});
    Tensor full = formula({16, 8}, {.rule = Rule::wide, .seed = 1});
    DTensor x = distribute_tensor(full, mesh, {Shard(0), Replicate()});
    rank.expect_same_bits(x.redistribute({Replicate(), Shard(1)}).full_tensor(), full);
  });
  GateFile gate = gate_from_text("[mesh]\nshape = [4]\n", "gate.toml");
  RecordedCase recorded = RecordedCase::parse(R"({"kind": "mesh", "id": "1"})", {.file = "case"});
  fmt::print("{} {} {}\n", outcome.ok() ? "ok" : report(outcome), gate.ranks(), recorded.kind());
}
