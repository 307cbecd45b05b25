#include "replay/read/unpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "core/check/error.h"
#include "tests/expect_error.h"
#include "tests/replay/packed.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

using simmesh::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Files = std::vector<std::pair<std::string, std::string>>;

std::string all_of(ByteSource& source) {
  std::string text;
  std::vector<char> places(1000);
  while (std::size_t count = source.read(places)) text.append(places.data(), count);
  return text;
}

// Names are given without the folder.
Files files_of(const testing::TemporaryFolder& folder, const std::string& path,
               const UnpackLimits& limits = {}) {
  Files files;
  for_each_file(
      path,
      [&](ByteSource& source) {
        std::string name = source.name().substr(folder.path().string().size() + 1);
        files.emplace_back(name, all_of(source));
      },
      limits);
  return files;
}

std::string refusal_of(const std::string& path, const UnpackLimits& limits = {}) {
  auto refusal = error_of([&] {
    for_each_file(
        path, [](ByteSource& source) { all_of(source); }, limits);
  });
  if (!refusal) return "nothing was refused";
  EXPECT_EQ(refusal->kind(), ErrorKind::value_error);
  return refusal->what();
}

TEST(Unpack, GivesPlainAndCompressedFiles) {
  testing::TemporaryFolder folder;
  std::string text = R"({"schema": "1.1.1"})";
  EXPECT_THAT(files_of(folder, folder.write("a.json", text)), ElementsAre(Pair("a.json", text)));
  EXPECT_THAT(files_of(folder, folder.write("b.json.gz", testing::gzip(text))),
              ElementsAre(Pair("b.json.gz", text)));
  EXPECT_THAT(files_of(folder, folder.write("c.json", "")), ElementsAre(Pair("c.json", "")));
}

TEST(Unpack, GivesTheMembersOfArchivesInTheirOrder) {
  testing::TemporaryFolder folder;
  std::vector<testing::PackedMember> members = {
      {.name = "job/", .bytes = "", .type = AE_IFDIR},
      {.name = "job/rank-1.json", .bytes = "one"},
      {.name = "job/._rank-1.json", .bytes = "mac"},
      {.name = "rank-0.json.gz", .bytes = testing::gzip("zero")},
      {.name = "empty.gz", .bytes = ""}};
  for (bool is_compressed : {false, true}) {
    std::string path = folder.write("t.tgz", testing::tar(members, is_compressed));
    EXPECT_THAT(files_of(folder, path),
                ElementsAre(Pair("t.tgz:job/rank-1.json", "one"),
                            Pair("t.tgz:rank-0.json.gz", "zero"), Pair("t.tgz:empty.gz", "")));
  }
}

TEST(Unpack, GivesTheFilesOfFoldersByName) {
  testing::TemporaryFolder folder;
  folder.write("job/b/rank-1.json", "one");
  folder.write("job/a.json", "a");
  folder.write("job/._a.json", "mac");
  EXPECT_THAT(files_of(folder, folder.path().string() + "/job"),
              ElementsAre(Pair("job/a.json", "a"), Pair("job/b/rank-1.json", "one")));
  EXPECT_THAT(refusal_of(folder.path().string() + "/nowhere"), HasSubstr("got nothing there"));
}

TEST(Unpack, RefusesMembersThatLeaveTheArchive) {
  testing::TemporaryFolder folder;
  auto refusal = [&](const testing::PackedMember& member) {
    return refusal_of(folder.write("t.tar", testing::tar({member})));
  };
  EXPECT_THAT(refusal({.name = "../rank-0.json", .bytes = "x"}), HasSubstr("'../rank-0.json'"));
  EXPECT_THAT(refusal({.name = "a/../../b.json", .bytes = "x"}), HasSubstr("that stay inside"));
  EXPECT_THAT(refusal({.name = "/etc/passwd", .bytes = "x"}), HasSubstr("'/etc/passwd'"));
  EXPECT_THAT(refusal({.name = "a", .bytes = "", .type = AE_IFLNK, .link = "/etc/passwd"}),
              HasSubstr("which is a link"));
  EXPECT_THAT(refusal({.name = "a", .bytes = "", .hard_link = "/etc/passwd"}),
              HasSubstr("which is a link"));
  EXPECT_THAT(refusal({.name = "a", .bytes = "", .type = AE_IFIFO}), HasSubstr("a device"));
}

TEST(Unpack, RefusesWhatBecomesTooLarge) {
  testing::TemporaryFolder folder;
  std::string zeros(1 << 20, '0');
  UnpackLimits limits{.ratio_max = 100, .ratio_from_bytes = 1 << 16};
  for (const std::string& bytes :
       {testing::gzip(zeros), testing::tar({{.name = "z", .bytes = zeros}}),
        testing::tar({{.name = "z.gz", .bytes = testing::gzip(zeros)}}, false)}) {
    std::string path = folder.write("bomb", bytes);
    EXPECT_THAT(refusal_of(path, limits), HasSubstr("at most 100 unpacked bytes for each packed"));
    EXPECT_THAT(refusal_of(path, {.bytes_max = 1000}), HasSubstr("at most 1000 bytes"));
    EXPECT_EQ(refusal_of(path), "nothing was refused");
  }
  std::string two = folder.write(
      "t.tar", testing::tar({{.name = "a", .bytes = "x"}, {.name = "b", .bytes = "y"}}));
  EXPECT_THAT(refusal_of(two, {.members_max = 1}), HasSubstr("at most 1 members"));
}

// Would fail if bytes that gzip's checksum doesn't fit were read as if they were right.
TEST(Unpack, RefusesAWrongChecksum) {
  testing::TemporaryFolder folder;
  std::string sound = testing::gzip("a text");
  std::string member = testing::tar({{.name = "a.gz", .bytes = sound}}, false);
  std::string archive = testing::tar({{.name = "a", .bytes = "text"}});
  for (std::size_t back : {1u, 4u, 5u, 8u}) {
    std::string wrong = sound, wrong_archive = archive;
    wrong[wrong.size() - back] ^= 1;
    wrong_archive[wrong_archive.size() - back] ^= 1;
    EXPECT_THAT(refusal_of(folder.write("a.gz", wrong)), HasSubstr("a.gz: expected a file that"));
    EXPECT_THAT(
        refusal_of(folder.write("t.tar", testing::tar({{.name = "a.gz", .bytes = wrong}}, false))),
        HasSubstr("t.tar:a.gz: expected"));
    EXPECT_THAT(refusal_of(folder.write("t.tgz", wrong_archive)), HasSubstr("t.tgz: expected"));
  }
  EXPECT_EQ(refusal_of(folder.write("t.tar", member)), "nothing was refused");
  EXPECT_EQ(refusal_of(folder.write("t.tgz", archive)), "nothing was refused");
}

TEST(Unpack, RefusesADamagedArchiveWhereverItIsCut) {
  testing::TemporaryFolder folder;
  std::string bytes =
      testing::gzip("a text that is long enough to be compressed, to be compressed");
  for (std::size_t count = 1; count < bytes.size(); ++count) {
    std::string path = folder.write("cut.gz", bytes.substr(0, count));
    std::string text;
    try {
      for_each_file(path, [&](ByteSource& source) { text = all_of(source); });
    } catch (const Error&) {
      continue;
    }
    // A file with too few bytes for gzip's mark counts as a plain one.
    EXPECT_EQ(text, bytes.substr(0, count)) << count;
  }
}

}  // namespace
}  // namespace simmesh::replay
