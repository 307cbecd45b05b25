#pragma once

#include <string>

#include "gate/file.h"

namespace simmesh {

// explain returns a gate as TOML with every key, including those at their defaults. The text reads
// back as the same gate, and explaining that gate returns the same text.
std::string explain(const GateFile& gate);

}  // namespace simmesh
