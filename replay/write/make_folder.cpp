#include "replay/write/make_folder.h"

#include <filesystem>

#include "core/check/error.h"

namespace simmesh::replay {

void make_folder(const std::string& folder, const std::string& what) {
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  if (!fault && std::filesystem::is_directory(folder, fault)) return;
  raise(ErrorKind::value_error, "replay/write",
        "expected a folder for {}, but '{}' can't be made: {}", what, folder,
        fault ? fault.message() : "it isn't one");
}

}  // namespace simmesh::replay
