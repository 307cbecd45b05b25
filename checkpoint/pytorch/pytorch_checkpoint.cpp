#include "checkpoint/pytorch/pytorch_checkpoint.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

#include "checkpoint/hugging_face/weight_map.h"
#include "checkpoint/torch_file/flat_values.h"
#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::string_view endings[] = {".pt", ".pth", ".bin", ".ckpt"};
constexpr std::string_view model_begin = "pytorch_model", model_ending = ".bin";

bool has_index(const Store& store, const std::string& folder) {
  return store.size(joined(folder, pytorch_index_file)).has_value();
}

// Raises a ValueError unless each file has just the tensors that the index names in it.
void check_index(const Store& store, const std::string& folder, const Catalog& catalog) {
  std::map<std::string, std::string> wanted = read_weight_map(store, folder, pytorch_index_file);
  std::string place = joined(store.name(), joined(folder, pytorch_index_file));
  for (const StoredTensor& tensor : catalog.tensors) {
    const std::string& file = tensor.chunks[0].file;
    auto found = wanted.find(tensor.name);
    if (found == wanted.end() || found->second != file)
      raise(ErrorKind::value_error, "checkpoint/pytorch",
            "{}: '{}' is in {}, but the index says otherwise", place, tensor.name, file);
    wanted.erase(found);
  }
  if (!wanted.empty())
    raise(ErrorKind::value_error, "checkpoint/pytorch", "{}: '{}' isn't in {}", place,
          wanted.begin()->first, wanted.begin()->second);
}

}  // namespace

std::vector<std::string> pytorch_files(const Store& store, const std::string& folder) {
  if (has_index(store, folder)) {
    std::set<std::string> files;
    for (const auto& [name, file] : read_weight_map(store, folder, pytorch_index_file))
      files.insert(file);
    if (!files.empty()) return {files.begin(), files.end()};
  }
  std::vector<std::string> models, others;
  for (const std::string& file : store.files(folder)) {
    if (file.find('/') != file.npos) continue;
    if (file.starts_with(model_begin) && file.ends_with(model_ending)) models.push_back(file);
    if (std::any_of(std::begin(endings), std::end(endings),
                    [&](std::string_view ending) { return file.ends_with(ending); }))
      others.push_back(file);
  }
  if (!models.empty()) return models;
  if (others.size() > 1)
    raise(ErrorKind::value_error, "checkpoint/pytorch",
          "{}: expected one file of torch.save, or {}, got {}; name one of them",
          joined(store.name(), folder), pytorch_index_file, join_text(others, ", "));
  return others;
}

Catalog read_pytorch(const Store& store, const std::string& folder,
                     const std::vector<std::string>& files) {
  Catalog catalog;
  for (const std::string& name : files) {
    TorchFile file(store, joined(folder, name));
    add_values(catalog, file, name, file.root(), "");
  }
  check_catalog(catalog);
  if (has_index(store, folder)) check_index(store, folder, catalog);
  return catalog;
}

Catalog read_pytorch_file(const Store& store, const std::string& folder, const std::string& file) {
  TorchFile torch_file(store, joined(folder, file));
  Catalog catalog;
  add_values(catalog, torch_file, file, torch_file.root(), "");
  check_catalog(catalog);
  return catalog;
}

}  // namespace simmesh::checkpoint
