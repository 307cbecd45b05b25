#include "checkpoint/open.h"

#include <algorithm>

#include "checkpoint/dcp/dcp_checkpoint.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/deepspeed/deepspeed_checkpoint.h"
#include "checkpoint/deepspeed/deepspeed_files.h"
#include "checkpoint/hugging_face/hugging_face.h"
#include "checkpoint/manifest.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

OpenCheckpoint open(const Location& location) {
  const Store& store = *location.store;
  const std::string& folder = location.name;
  if (store.size(folder)) return {read_safetensors(store, folder), ""};
  auto has = [&](const char* file) { return store.size(joined(folder, file)).has_value(); };
  if (has(manifest_file) || has(commit_file)) return {read_manifest(store, folder).catalog, folder};
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
  if (std::any_of(files.begin(), files.end(),
                  [](const std::string& file) { return file.ends_with(".safetensors"); }))
    return {read_hugging_face(store, folder), folder};
  raise(ErrorKind::value_error, "checkpoint/open",
        "{}: expected a checkpoint ({}, {}, *_states.pt or *.safetensors), got {}", location.text(),
        commit_file, dcp_metadata_file,
        files.empty() ? "no files" : fmt::format("{} other files", files.size()));
}

}  // namespace simmesh::checkpoint
