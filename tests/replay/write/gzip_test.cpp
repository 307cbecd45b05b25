#include "replay/write/gzip.h"

#include <gtest/gtest.h>

#include "replay/read/unpack.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

std::string unpacked(const std::string& path) {
  std::string text;
  for_each_file(path, [&](ByteSource& source) {
    char block[1000];
    while (std::size_t count = source.read(block)) text.append(block, count);
  });
  return text;
}

TEST(Gzip, IsUnpackedToWhatItWas) {
  simmesh::testing::TemporaryFolder folder;
  for (std::size_t size : {0, 1, 10'000, 300'000}) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += char(i * i % 251);
    EXPECT_EQ(unpacked(folder.write("bytes.gz", gzip(bytes))), bytes) << size;
  }
}

// The header would otherwise hold the time.
TEST(Gzip, GivesEqualBytesForEqualBytes) {
  std::string packed = gzip("equal");
  EXPECT_EQ(packed.substr(0, 4), std::string("\x1f\x8b\x08\x00", 4));
  EXPECT_EQ(packed.substr(4, 4), std::string(4, '\0'));
  EXPECT_EQ(gzip("equal"), packed);
  EXPECT_LT(gzip(std::string(100'000, 'a')).size(), 1000);
}

}  // namespace
}  // namespace simmesh::replay
