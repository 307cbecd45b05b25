#include "checkpoint/catalog/location.h"

#include <filesystem>

#include "checkpoint/store/directory_store.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

Location Directory(const std::string& path) {
  std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  if (whole.filename() == "." || whole.filename() == "..") {
    // Only the file system knows the name that "." or ".." stands for.
    std::error_code error;
    whole = std::filesystem::weakly_canonical(whole, error);
  }
  std::string name = whole.filename().string();
  if (name.empty())
    raise(ErrorKind::value_error, "checkpoint/directory",
          "expected a folder with a name of its own, got '{}'", path);
  std::string root = whole.parent_path().string();
  return {std::make_shared<DirectoryStore>(root.empty() ? "." : root), name};
}

}  // namespace simmesh::checkpoint
