#pragma once

#include <string>

#include "gate/tables/keys.h"
#include "gate/tables/mesh.h"
#include "zero/config/config.h"

namespace simmesh {

// GateZero is parallel.zero: ZeRO over one dim of the mesh. All keys but mesh are those of
// DeepSpeed's section zero_optimization. The default stage is 3.
struct GateZero {
  std::string mesh;
  zero::Config config;

  std::int64_t stage() const { return config.zero_optimization.stage; }
};

// read_gate_zero reads the key. Rejects a dim that doesn't exist, and what zero::Config rejects.
GateZero read_gate_zero(GateTable& table, const GateLayout& layout);

// zero_entry returns the key as TOML that reads as the same.
std::string zero_entry(const GateZero& zero);

}  // namespace simmesh
