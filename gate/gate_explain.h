#pragma once

#include <string>

#include "gate/gate_file.h"

namespace simmesh {

// explain returns a gate as TOML with every key, defaults too. It reads back as the same gate, and
// explaining that gives the same text.
std::string explain(const GateFile& gate);

}  // namespace simmesh
