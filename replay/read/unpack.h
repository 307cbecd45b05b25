#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "replay/read/byte_source.h"

namespace simmesh::replay {

// UnpackLimits bound the unpacked size of an archive, so that a small file can't fill the memory.
struct UnpackLimits {
  std::int64_t bytes_max = std::int64_t(64) << 30;  // of all members together
  // Bytes to which a packed byte may unpack on average, from ratio_from_bytes on.
  std::int64_t ratio_max = 200;
  std::int64_t ratio_from_bytes = std::int64_t(64) << 20;
  std::int64_t members_max = 100'000;
};

// for_each_file calls visit with each file that a path stands for: those of a folder and of its
// folders, in the order of their names; the members of a .tar or .tar.gz, in the order of the
// archive; for anything else the file itself. Files that gzip compressed are unpacked, also in an
// archive. Nothing is written to disk. Side files of macOS ("._name") are left out. Raises a
// ValueError for a path that doesn't exist, for a damaged archive, for a file whose checksum isn't
// that of its bytes, for one beyond the limits, and for a member that is a link or a device or
// whose path is absolute or has "..".
void for_each_file(const std::string& path, const std::function<void(ByteSource&)>& visit,
                   const UnpackLimits& limits = {});

}  // namespace simmesh::replay
