#include <algorithm>
#include <fmt/format.h>

#include "checkpoint/format/formats.h"
#include "checkpoint/pytorch/pytorch_checkpoint.h"
#include "checkpoint/torch_file/torch_file.h"
#include "checkpoint/torch_file/zip_directory.h"

namespace simmesh::checkpoint {

namespace {

std::optional<OpenCheckpoint> open_pytorch(const Location& location) {
  const Store& store = *location.store;
  if (store.size(location.name)) {
    if (!is_torch_file(store, location.name)) return std::nullopt;
    std::size_t slash = location.name.rfind('/');
    std::string folder = slash == location.name.npos ? "" : location.name.substr(0, slash);
    std::string file = location.name.substr(slash == location.name.npos ? 0 : slash + 1);
    return OpenCheckpoint{read_pytorch_file(store, folder, file), folder};
  }
  // As in Hugging Face's loaders, safetensors files come first.
  std::vector<std::string> all = store.files(location.name);
  if (std::any_of(all.begin(), all.end(),
                  [](const std::string& file) { return file.ends_with(".safetensors"); }))
    return std::nullopt;
  std::vector<std::string> files = pytorch_files(store, location.name);
  if (files.empty()) return std::nullopt;
  return OpenCheckpoint{read_pytorch(store, location.name, files), location.name};
}

std::vector<std::string> pytorch_problems(const Location& location, const OpenCheckpoint& opened) {
  const Store& store = *location.store;
  std::vector<std::string> problems, files;
  if (store.size(location.name))
    files = {location.name};
  else
    for (const std::string& file : pytorch_files(store, opened.folder))
      files.push_back(joined(opened.folder, file));
  for (const std::string& path : files)
    for (const std::string& problem : torch_file_problems(store, path)) problems.push_back(problem);
  return problems;
}

}  // namespace

const Format pytorch_format = {.name = "pytorch",
                               .title = "files of torch.save",
                               .marks = "*.pt, *.pth, *.bin",
                               .opens = open_pytorch,
                               .problems = pytorch_problems};

}  // namespace simmesh::checkpoint
