#pragma once

#include <cstdint>

#include "gate/gate_expect.h"

namespace simmesh {

// GateCheckpoint is the table [checkpoint]: the run is saved after so many steps and goes on as
// another one, on another mesh or in another form of parallelism, with the same bits.
struct GateCheckpoint {
  std::int64_t save_at = 1;
  GateSameAs resume_on;  // without a word

  // name returns "resume on [8]".
  std::string name() const;
};

// read_gate_checkpoint reads the table. Without resume_on the run goes on as it is.
GateCheckpoint read_gate_checkpoint(GateTable& table, const ExpectUse& use);

}  // namespace simmesh
