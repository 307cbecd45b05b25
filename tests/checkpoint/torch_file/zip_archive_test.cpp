#include "checkpoint/torch_file/zip_archive.h"

#include <gmock/gmock.h>

#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::bytes_of;
using ::testing::HasSubstr;
using testing::text_of;

std::string archive_text() {
  return text_of(zip_of({{"a/first", bytes_of("some bytes")}, {"a/empty", {}}}, 64));
}

TEST(ZipArchive, ReadsWhatItWrites) {
  std::string archive = archive_text();
  EXPECT_EQ(archive.find("some bytes") % 64, 0u);
  std::vector<ZipMember> members = read_zip(bytes_of(archive));
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].name, "a/first");
  EXPECT_EQ(text_of(members[0].bytes), "some bytes");
  EXPECT_TRUE(members[1].bytes.empty());
  EXPECT_EQ(archive, archive_text()) << "the same members give the same bytes";
}

// Members with a wrong checksum, with compression, or with more bytes than there are, are refused.
TEST(ZipArchive, RefusesWhatIsBroken) {
  std::string archive = archive_text();
  std::string flipped = archive;
  flipped[archive.find("some bytes")] = 'S';
  EXPECT_THAT(error_text([&] { read_zip(bytes_of(flipped)); }),
              HasSubstr("the member a/first can't be read"));
  for (std::size_t size = 0; size < archive.size(); ++size)
    ASSERT_NE(error_text([&] { read_zip(bytes_of(archive.substr(0, size))); }), "") << size;
  // In an entry of the directory at the end, the method is at byte 10, and the sizes are at
  // byte 20.
  std::size_t entry = archive.find("PK\1\2");
  std::string compressed = archive, large = archive;
  compressed[entry + 10] = 8;
  EXPECT_THAT(error_text([&] { read_zip(bytes_of(compressed)); }),
              HasSubstr("the member a/first is compressed or encrypted"));
  large[entry + 22] = large[entry + 26] = 1;
  EXPECT_THAT(error_text([&] { read_zip(bytes_of(large)); }), ::testing::Not(""));
}

}  // namespace
}  // namespace simmesh::checkpoint
