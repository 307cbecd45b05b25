#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// ZipPlace is the place in the file of a member of a zip archive.
struct ZipPlace {
  std::string name;
  std::int64_t begin = 0, bytes = 0;
  std::uint32_t checksum = 0;  // crc32 of the bytes
};

// read_zip_directory returns the members of an archive without compression, in its order. It reads
// none of their bytes, and the archive may have any size. Raises a ValueError for any other file,
// and for a member that is outside of the archive.
std::vector<ZipPlace> read_zip_directory(const Store& store, const std::string& path);

// is_zip_member_whole reads a member, and is true if its bytes have their checksum.
bool is_zip_member_whole(const Store& store, const std::string& path, const ZipPlace& member);

// crc32 returns the checksum of zip archives. `before` is the checksum of the preceding bytes.
std::uint32_t crc32(Bytes bytes, std::uint32_t before = 0);

}  // namespace simmesh::checkpoint
