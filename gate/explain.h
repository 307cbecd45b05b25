#pragma once

#include <string>

#include "gate/file.h"

namespace simmesh {

// explain returns a gate as TOML with every key, including those at their defaults. The text reads
// back as the same gate, and explaining that gate returns the same text.
std::string explain(const GateFile& gate);

// same_as_entry returns an entry of expect.same_as, or another run, as TOML that reads as the same.
std::string same_as_entry(const GateSameAs& other);

}  // namespace simmesh
