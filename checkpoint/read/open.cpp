#include "checkpoint/read/open.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "checkpoint/format/formats.h"
#include "core/check/counted.h"
#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::checkpoint {

namespace {

// Describes the place where a checkpoint was expected.
std::string contents_of(const Location& location) {
  constexpr std::size_t named_max = 5;
  auto is_below = [](const std::string& file) { return file.find('/') != file.npos; };
  std::vector<std::string> files = location.store->files(location.name);
  std::vector<std::string> folders = location.store->folders(location.name);
  std::int64_t count = std::count_if(files.begin(), files.end(), std::not_fn(is_below));
  if (folders.empty() && count > 0) return counted(count, "other file");
  if (folders.empty()) return exists(location) ? "an empty folder" : "no such file or folder";
  std::string text = count > 0 ? counted(count, "other file") + " and " : "";
  std::string names =
      join_text(gsl::span(folders).first(std::min(folders.size(), named_max)), ", ");
  return fmt::format("{}{}: {}{}", text, counted(std::int64_t(folders.size()), "folder"), names,
                     folders.size() > named_max ? ", ..." : "");
}

}  // namespace

bool exists(const Location& location) {
  if (location.store->size(location.name)) return true;
  std::size_t slash = location.name.rfind('/');
  std::string parent = slash == location.name.npos ? "" : location.name.substr(0, slash);
  std::string name = location.name.substr(slash == location.name.npos ? 0 : slash + 1);
  std::vector<std::string> folders = location.store->folders(parent);
  return name.empty() || std::find(folders.begin(), folders.end(), name) != folders.end();
}

OpenCheckpoint open(const Location& location) {
  for (const Format* format : formats)
    if (std::optional<OpenCheckpoint> opened = format->opens(location)) {
      opened->catalog.format = format->name;
      return std::move(*opened);
    }
  raise(ErrorKind::value_error, "checkpoint/open", "{}: expected a checkpoint ({}), got {}",
        location.text(), format_marks(), contents_of(location));
}

}  // namespace simmesh::checkpoint
