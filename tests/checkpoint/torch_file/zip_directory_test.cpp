#include "checkpoint/torch_file/zip_directory.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "checkpoint/torch_file/zip_archive.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using testing::bytes_of;
using ::testing::HasSubstr;
using testing::text_of;

std::string archive_of_members() {
  return text_of(zip_of({{"a/first", bytes_of("some bytes")}, {"a/empty", {}}}, 64));
}

std::vector<ZipPlace> directory_of(const std::string& archive) {
  MemoryStore store;
  add_file(store, "a.zip", archive);
  return read_zip_directory(store, "a.zip");
}

std::string directory_problem(const std::string& archive) {
  return error_text([&] { directory_of(archive); });
}

// Returns the number in some bytes of a text, the lowest byte first.
void put_bytes(std::string& text, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) text[at + i] = char(value >> (8 * i));
}

TEST(ZipDirectory, FindsTheBytesOfMembers) {
  std::string archive = archive_of_members();
  std::vector<ZipPlace> members = directory_of(archive);
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].name, "a/first");
  EXPECT_EQ(archive.substr(std::size_t(members[0].begin), std::size_t(members[0].bytes)),
            "some bytes");
  EXPECT_EQ(members[0].checksum, crc32(bytes_of("some bytes")));
  EXPECT_EQ(members[1].name, "a/empty");
  EXPECT_EQ(members[1].bytes, 0);
  // Places count from the begin of the file, so an archive after other bytes is refused.
  EXPECT_THAT(directory_problem("behind" + archive), ::testing::Not(""));
}

// Computes the published check value, in one part and in two.
TEST(ZipDirectory, ComputesTheChecksum) {
  EXPECT_EQ(crc32(bytes_of("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32(bytes_of("6789"), crc32(bytes_of("12345"))), 0xcbf43926u);
  EXPECT_EQ(crc32({}), 0u);
  std::string archive = archive_of_members();
  MemoryStore store;
  add_file(store, "a.zip", archive);
  ZipPlace member = read_zip_directory(store, "a.zip")[0];
  EXPECT_TRUE(is_zip_member_whole(store, "a.zip", member));
  store.flip("a.zip", member.begin + 9, 0);
  EXPECT_FALSE(is_zip_member_whole(store, "a.zip", member));
}

// An archive of more than 4 GiB has the places of its members in 64-bit fields.
TEST(ZipDirectory, ReadsFieldsOf64Bits) {
  std::string archive = archive_of_members();
  std::size_t entry = archive.find("PK\1\2"), end = archive.find("PK\5\6");
  std::string fields(4 + 24, '\0');
  put_bytes(fields, 0, 1, 2);
  put_bytes(fields, 2, 24, 2);
  put_bytes(fields, 4, 10, 8);
  put_bytes(fields, 12, 10, 8);
  put_bytes(fields, 20, 0, 8);
  std::size_t extra = entry + 46 + std::string("a/first").size();
  std::size_t extra_bytes = std::size_t(std::uint8_t(archive[entry + 30]));
  for (std::size_t field : {20u, 24u, 42u}) put_bytes(archive, entry + field, 0xffffffff, 4);
  put_bytes(archive, entry + 30, extra_bytes + fields.size(), 2);
  std::string record(56, '\0'), locator(20, '\0');
  put_bytes(record, 0, 0x06064b50, 4);
  put_bytes(record, 32, 2, 8);
  put_bytes(record, 40, end - entry + fields.size(), 8);
  put_bytes(record, 48, entry, 8);
  put_bytes(locator, 0, 0x07064b50, 4);
  put_bytes(locator, 8, end + fields.size(), 8);
  put_bytes(archive, end + 16, 0xffffffff, 4);
  archive.insert(end, record + locator);
  archive.insert(extra, fields);
  std::vector<ZipPlace> members = directory_of(archive);
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(archive.substr(std::size_t(members[0].begin), std::size_t(members[0].bytes)),
            "some bytes");
}

TEST(ZipDirectory, RefusesWhatIsBroken) {
  std::string archive = archive_of_members();
  for (std::size_t size = 0; size < archive.size(); ++size)
    ASSERT_NE(directory_problem(archive.substr(0, size)), "") << size;
  std::size_t entry = archive.find("PK\1\2"), end = archive.find("PK\5\6");
  auto problem = [&](std::size_t at, std::uint64_t value, std::size_t width) {
    std::string changed = archive;
    put_bytes(changed, at, value, width);
    return directory_problem(changed);
  };
  EXPECT_THAT(problem(entry + 10, 8, 2), HasSubstr("a/first is compressed or encrypted"));
  EXPECT_THAT(problem(entry + 8, 1, 2), HasSubstr("a/first is compressed or encrypted"));
  EXPECT_THAT(problem(entry + 24, 11, 4), HasSubstr("a/first has two sizes"));
  EXPECT_THAT(problem(entry + 42, 1 << 30, 4), HasSubstr("a member is outside of the file"));
  EXPECT_THAT(problem(entry + 42, 1, 4), HasSubstr("a member without its header"));
  EXPECT_THAT(problem(entry, 0, 4), HasSubstr("the list of members is broken"));
  EXPECT_THAT(problem(end + 10, 3, 2), HasSubstr("cut off"));
  EXPECT_THAT(problem(end + 16, 1 << 30, 4), HasSubstr("is outside of the file"));
  EXPECT_THAT(problem(end + 16, 0xffffffff, 4), HasSubstr("the 64-bit end is missing"));
  std::string large = archive;
  put_bytes(large, entry + 20, 1 << 20, 4);
  put_bytes(large, entry + 24, 1 << 20, 4);
  EXPECT_THAT(directory_problem(large), HasSubstr("claims 1048576 bytes"));
  MemoryStore store;
  EXPECT_THAT(error_text([&] { read_zip_directory(store, "none"); }), HasSubstr("no file none"));
}

}  // namespace
}  // namespace simmesh::checkpoint
