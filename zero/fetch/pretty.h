#pragma once

#include <cstdint>
#include <string>

namespace simmesh::zero {

// pretty_count writes a count with a comma between groups of three digits: "1,234,567", "-28".
std::string pretty_count(std::int64_t count);

// pretty_bytes writes a number of bytes the same way, and from 1,024 on also in the largest binary
// unit that it has one of: "142,592 B (139.25 KiB)".
std::string pretty_bytes(std::int64_t bytes);

}  // namespace simmesh::zero
