#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// docs/architecture.md describes each room of the house, and a room stays small enough to overview.
// Without these rules a newcomer meets folders that no page explains, and rooms only ever grow.
namespace simmesh::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t room_files_max = 45;

std::set<std::string, std::less<>> rooms_of_house() {
  std::set<std::string, std::less<>> rooms;
  for (const std::vector<std::string_view>& row : house) rooms.insert(row.begin(), row.end());
  return rooms;
}

// names_in_first_cell returns the names in backticks of a table's row before its second bar.
std::vector<std::string> names_in_first_cell(std::string_view line) {
  std::vector<std::string> names;
  if (line.empty() || line.front() != '|') return names;
  std::string_view cell = line.substr(1, line.find('|', 1) - 1);
  for (std::size_t open = cell.find('`'); open != cell.npos; open = cell.find('`', open + 1)) {
    std::size_t close = cell.find('`', open + 1);
    if (close == cell.npos) break;
    names.emplace_back(cell.substr(open + 1, close - open - 1));
    open = close;
  }
  return names;
}

// rooms_on_page returns the first cells of the table whose first column is headed "room".
std::vector<std::string> rooms_on_page(const SourceFile& page) {
  std::vector<std::string> rooms;
  bool inside = false;
  for (const std::string& line : page.lines()) {
    if (line.rfind("| room |", 0) == 0) inside = true;
    if (line.empty()) inside = false;
    if (!inside) continue;
    for (std::string& name : names_in_first_cell(line)) rooms.push_back(std::move(name));
  }
  return rooms;
}

std::vector<std::string> differences(const SourceFile& page) {
  std::vector<std::string> found;
  std::set<std::string, std::less<>> expected = rooms_of_house();
  for (const std::string& room : rooms_on_page(page))
    if (!expected.erase(room))
      found.push_back(fmt::format("{} is named twice, or is no room of the house", room));
  for (const std::string& room : expected) found.push_back(fmt::format("{} is not named", room));
  return found;
}

std::vector<std::string> overfull_rooms(const std::vector<SourceFile>& files) {
  std::map<std::string, std::size_t> counts;
  for (const SourceFile& file : files)
    if (file.is_cpp()) ++counts[file.path().substr(0, file.path().rfind('/'))];
  std::vector<std::string> found;
  for (const auto& [folder, count] : counts)
    if (count > room_files_max)
      found.push_back(
          fmt::format("{}: {} files, expected at most {}", folder, count, room_files_max));
  return found;
}

TEST(RoomsPage, NamesEveryRoomOnce) {
  const SourceFile* page = find_file("docs/architecture.md");
  ASSERT_NE(page, nullptr);
  EXPECT_THAT(differences(*page), IsEmpty());
}

TEST(RoomsPage, FiresOnRoomsThatAreMissingUnknownOrNamedTwice) {
  SourceFile page("docs/architecture.md", "| room | what |\n| `mesh`, `mesh`, `nave` | ... |\n");
  EXPECT_THAT(rooms_on_page(page), ElementsAre("mesh", "mesh", "nave"));
  EXPECT_THAT(differences(page), SizeIs(rooms_of_house().size() - 1 + 2));
}

TEST(RoomSizes, HoldInTheTree) { EXPECT_THAT(overfull_rooms(source_tree()), IsEmpty()); }

TEST(RoomSizes, FireOnOneFileTooMany) {
  std::vector<SourceFile> files;
  for (std::size_t i = 0; i <= room_files_max; ++i)
    files.emplace_back(fmt::format("mesh/file_{}.h", i), "");
  EXPECT_THAT(overfull_rooms(files), SizeIs(1));
  files.pop_back();
  EXPECT_THAT(overfull_rooms(files), IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
