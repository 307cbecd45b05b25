#include "checkpoint/read/open.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/catalog/save_layout.h"
#include "checkpoint/dcp/dcp_checkpoint.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/deepspeed/deepspeed_checkpoint.h"
#include "checkpoint/deepspeed/deepspeed_files.h"
#include "checkpoint/hugging_face/hugging_face.h"
#include "core/check/counted.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// A place in the folder above it.
struct Split {
  std::string parent, name;
};

Split split(const std::string& path) {
  std::size_t slash = path.rfind('/');
  if (slash == path.npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

// What a checkpoint of ours has in one of its parts; nullopt for a folder that is none.
std::optional<OpenCheckpoint> open_part(const Location& location) {
  Split place = split(location.name);
  if (!is_part_folder(place.name) || !location.store->size(joined(place.parent, manifest_file)))
    return std::nullopt;
  OpenCheckpoint opened = {read_manifest(*location.store, place.parent).catalog, place.parent};
  auto is_elsewhere = [&](const auto& value) { return part_of_name(value.name) != place.name; };
  std::erase_if(opened.catalog.tensors, is_elsewhere);
  std::erase_if(opened.catalog.objects, is_elsewhere);
  return opened;
}

// What lies where a checkpoint was expected.
std::string contents_of(const Location& location, const std::vector<std::string>& files) {
  constexpr std::size_t named_max = 5;
  auto is_below = [](const std::string& file) { return file.find('/') != file.npos; };
  std::vector<std::string> folders = location.store->folders(location.name);
  std::int64_t count = std::count_if(files.begin(), files.end(), std::not_fn(is_below));
  if (folders.empty() && count > 0) return counted(count, "other file");
  if (folders.empty()) return exists(location) ? "an empty folder" : "no such file or folder";
  std::string text = count > 0 ? counted(count, "other file") + " and " : "";
  std::string names = fmt::format(
      "{}", fmt::join(folders.begin(),
                      folders.begin() + std::ptrdiff_t(std::min(folders.size(), named_max)), ", "));
  return fmt::format("{}{}: {}{}", text, counted(std::int64_t(folders.size()), "folder"), names,
                     folders.size() > named_max ? ", ..." : "");
}

// A file by itself is one of safetensors.
OpenCheckpoint open_file(const Location& location) {
  try {
    return {read_safetensors(*location.store, location.name), ""};
  } catch (const Error& error) {
    if (location.name.ends_with(".safetensors")) throw;
    throw Error(error.kind(), "checkpoint/open",
                fmt::format("{}: expected a folder or a safetensors file, and as such: {}",
                            location.text(), error.message()));
  }
}

}  // namespace

bool exists(const Location& location) {
  if (location.store->size(location.name)) return true;
  Split place = split(location.name);
  std::vector<std::string> folders = location.store->folders(place.parent);
  return place.name.empty() ||
         std::find(folders.begin(), folders.end(), place.name) != folders.end();
}

OpenCheckpoint open(const Location& location) {
  const Store& store = *location.store;
  const std::string& folder = location.name;
  if (store.size(folder)) return open_file(location);
  auto has = [&](const char* file) { return store.size(joined(folder, file)).has_value(); };
  if (has(manifest_file) || has(commit_file)) return {read_manifest(store, folder).catalog, folder};
  if (auto part = open_part(location)) return *part;
  if (has(dcp_metadata_file)) return {read_dcp(store, folder), folder};
  if (auto files = find_deepspeed_files(store, folder))
    return {read_deepspeed(store, *files), files->folder};
  // DCP's shards are right where its consolidated files may not be.
  std::vector<std::string> files = store.files(folder);
  auto is_shard = [](const std::string& file) {
    return file.starts_with("sharded/") && file.ends_with(".safetensors");
  };
  if (std::any_of(files.begin(), files.end(), is_shard)) {
    std::string shards = joined(folder, "sharded");
    return {read_hugging_face(store, shards), shards};
  }
  auto is_safetensors = [](const std::string& file) {
    return file.ends_with(".safetensors") && file.find('/') == file.npos;
  };
  if (std::any_of(files.begin(), files.end(), is_safetensors))
    return {read_hugging_face(store, folder), folder};
  raise(ErrorKind::value_error, "checkpoint/open",
        "{}: expected a checkpoint ({}, {}, *_states.pt or *.safetensors), got {}", location.text(),
        commit_file, dcp_metadata_file, contents_of(location, files));
}

}  // namespace simmesh::checkpoint
