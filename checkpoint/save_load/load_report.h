#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simmesh::checkpoint {

// LoadWay is how a load went: from each rank's own files (see load_local), or by a plan of what
// each rank wants.
enum class LoadWay : std::uint8_t { planned, local };

// LoadReport is what a load read and left out, on all ranks.
struct LoadReport {
  LoadWay way = LoadWay::planned;
  std::vector<std::string> missing, unexpected;
  std::int64_t bytes_needed = 0;  // without what several ranks need
  std::int64_t bytes_read = 0;
  // read_amplification is what was read for each byte that was needed.
  double read_amplification() const {
    return bytes_needed == 0 ? 1.0 : double(bytes_read) / double(bytes_needed);
  }
};

}  // namespace simmesh::checkpoint
