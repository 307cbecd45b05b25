#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// ZipPlace is where the bytes of a member of a zip archive lie in the file.
struct ZipPlace {
  std::string name;
  std::int64_t begin = 0, bytes = 0;
  std::uint32_t checksum = 0;  // crc32 of the bytes
};

// read_zip_directory returns the members of an archive without compression, in its order, and reads
// none of their bytes; the archive may have any size. Raises a ValueError for a file that is no
// such archive, and for a member that lies outside of it.
std::vector<ZipPlace> read_zip_directory(const Store& store, const std::string& path);

// is_zip_member_whole reads a member and says whether its bytes have their checksum.
bool is_zip_member_whole(const Store& store, const std::string& path, const ZipPlace& member);

// crc32 returns the checksum of zip archives; `before` is that of the bytes in front of these.
std::uint32_t crc32(Bytes bytes, std::uint32_t before = 0);

}  // namespace simmesh::checkpoint
