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
  // The path of a DeepSpeed file, as the gate has it; empty where the gate gives the keys itself.
  std::string file = {};

  std::int64_t stage() const { return config.zero_optimization.stage; }
};

// read_gate_zero reads the key. Rejects a dim that doesn't exist, and what zero::Config rejects.
GateZero read_gate_zero(GateTable& table, const GateLayout& layout);

// read_gate_zero_file reads the section zero_optimization of a DeepSpeed file, whose path is the
// text under a key. The path is relative to the gate's folder. gate/tables/zero_file.h reads the
// rest.
GateZero read_gate_zero_file(GateTable& table, std::string_view key, const GateLayout& layout);

// zero_file_path returns the path of such a file from the current folder.
std::string zero_file_path(const std::string& gate_file, const std::string& path);

// zero_entry returns the key as TOML that reads as the same; a file is named by its path.
std::string zero_entry(const GateZero& zero);

}  // namespace simmesh
