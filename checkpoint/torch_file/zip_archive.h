#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// ZipMember is a file in a zip archive.
struct ZipMember {
  std::string name;
  std::vector<std::byte> bytes;
};

// read_zip returns the members of an archive without compression. Raises a ValueError for a wrong
// checksum, and for any other file. The members together have no more bytes than the archive.
std::vector<ZipMember> read_zip(Bytes archive);

// zip_of returns an archive of members without compression. Each member begins at a multiple of
// `alignment` bytes.
std::vector<std::byte> zip_of(const std::vector<ZipMember>& members, std::size_t alignment);

}  // namespace simmesh::checkpoint
