#include "verify/case_files.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

std::string line(const std::string& id) { return R"({"kind":"k","id":")" + id + "\"}\n"; }

bool all(const RecordedCase&) { return true; }

std::vector<std::string> ids(const std::vector<RecordedCase>& cases) {
  std::vector<std::string> ids;
  for (const RecordedCase& recorded : cases) ids.push_back(recorded.id());
  return ids;
}

CaseFiles load(const std::vector<std::string>& paths) { return load_cases(paths, all); }

TEST(CaseFiles, ReadsCasesLineByLine) {
  std::vector<RecordedCase> cases = cases_from_text(line("a") + "\n \r\n" + line("b"), "f.jsonl");
  EXPECT_THAT(ids(cases), ElementsAre("a", "b"));
  EXPECT_EQ(cases[1].place().line, 4);
  EXPECT_THAT(ids(cases_from_text("{\n\"kind\":\"k\",\n\"id\":\"a\"}\n", "f.json")),
              ElementsAre("a"));
  EXPECT_THAT(ids(cases_from_text(R"({"kind":"k","id":"a"})", "f.jsonl")), ElementsAre("a"));
}

// Data files, disputed cases and the order of files: a script that compares output must see one
// order everywhere.
TEST(CaseFiles, TakesTheCasesOfAFolderInOrder) {
  TemporaryFolder folder;
  folder.write("b/z.jsonl", line("bz1") + line("bz2"));
  folder.write("b/disputed.jsonl", line("d1") + line("d2"));
  folder.write("a.jsonl", line("a"));
  folder.write("c.json", line("c"));
  folder.write("data.json", R"({"kind":"k"})");
  folder.write("list.json", "[1]");
  folder.write("broken.json", R"({"id":1,"x)");
  folder.write("empty.json", "");
  folder.write("README.md", "{");
  CaseFiles files = load({folder.path().string()});
  EXPECT_THAT(ids(files.cases), ElementsAre("a", "bz1", "bz2", "c"));
  EXPECT_EQ(files.disputed_left_out, 2);
  EXPECT_EQ(files.cases[1].place().file, (folder.path() / "b/z.jsonl").string());
}

TEST(CaseFiles, RunsDisputedCasesThatAreNamed) {
  TemporaryFolder folder;
  std::string disputed = folder.write("disputed.jsonl", line("d"));
  EXPECT_THAT(ids(load({disputed}).cases), ElementsAre("d"));
  EXPECT_THAT(ids(load({folder.path().string(), disputed}).cases), ElementsAre("d"));
  EXPECT_THAT(load({folder.path().string()}).cases, IsEmpty());
}

TEST(CaseFiles, ReadsAFileOnce) {
  TemporaryFolder folder;
  std::string file = folder.write("a.jsonl", line("a"));
  EXPECT_THAT(ids(load({file, folder.path().string(), file}).cases), ElementsAre("a"));
}

TEST(CaseFiles, KeepsOnlyWhatIsWanted) {
  TemporaryFolder folder;
  std::string file = folder.write("a.jsonl", line("a") + line("b"));
  folder.write("disputed.jsonl", line("a") + line("c"));
  std::vector<std::string> paths{folder.path().string()};
  CaseFiles files =
      load_cases(paths, [](const RecordedCase& recorded) { return recorded.id() == "a"; });
  EXPECT_THAT(ids(files.cases), ElementsAre("a"));
  EXPECT_EQ(files.disputed_left_out, 1);
}

TEST(CaseFiles, NamesWhatIsBroken) {
  TemporaryFolder folder;
  ErrorKind value = ErrorKind::value_error;
  std::string cut = folder.write("cut.jsonl", line("a") + R"({"kind":"k","id)");
  expect_error([&] { load({cut}); }, value,
               "cut.jsonl:2] expected a case as one JSON object, got text");
  expect_error([&] { load({folder.path().string()}); }, value, "cut.jsonl:2]");
  std::string data = folder.write("data.json", "{}");
  expect_error([&] { load({data}); }, value, "data.json:1] the case: expected a field 'kind'");
  expect_error([&] { load({"/no/such/file"}); }, value,
               "expected a file or a folder, got /no/such/file");
  expect_error([&] { load({"/dev/zero"}); }, value, "expected a file or a folder, got /dev/zero");
  expect_error([&] { load({folder.write("empty.jsonl", "\n\n")}); }, value, "got an empty file");
  TemporaryFolder nothing;
  expect_error([&] { load({nothing.path().string()}); }, value,
               "at least one recorded case, got none");
  TemporaryFolder half;
  half.write("case.json", R"({"kind":"k","id":"a","x":)");
  expect_error([&] { load({half.path().string()}); }, value, "case.json:1]");
}

TEST(CaseFiles, RefusesHugeFiles) {
  TemporaryFolder folder;
  std::string file = folder.write("huge.jsonl", "x");
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
  expect_error([&] { load({file}); }, ErrorKind::value_error, "expected a file of at most");
}

}  // namespace
}  // namespace simmesh
