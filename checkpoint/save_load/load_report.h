#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simmesh::checkpoint {

// LoadWay is the way of a load: from each rank's own files (see load_local), or by a plan for all
// ranks.
enum class LoadWay : std::uint8_t { planned, local };

// LoadReport counts the bytes that a load read on all ranks, and lists the names that it left out.
struct LoadReport {
  LoadWay way = LoadWay::planned;
  std::vector<std::string> missing, unexpected;
  std::int64_t bytes_needed = 0;  // once for bytes that several ranks need
  std::int64_t bytes_read = 0;
  // read_amplification returns the bytes read for each byte needed.
  double read_amplification() const {
    return bytes_needed == 0 ? 1.0 : double(bytes_read) / double(bytes_needed);
  }
};

}  // namespace simmesh::checkpoint
