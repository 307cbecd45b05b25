#include <algorithm>
#include <set>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/format/formats.h"
#include "checkpoint/native/commit.h"
#include "checkpoint/native/save_layout.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "core/check/bits_hash.h"

namespace simmesh::checkpoint {

namespace {

// Opens one part of a checkpoint. Returns nullopt if the place is no part.
std::optional<OpenCheckpoint> open_part(const Location& location) {
  std::size_t slash = location.name.rfind('/');
  std::string parent = slash == location.name.npos ? "" : location.name.substr(0, slash);
  std::string part = location.name.substr(slash == location.name.npos ? 0 : slash + 1);
  const Store& store = *location.store;
  if (!is_part_folder(part) || store.size(location.name) ||
      !store.size(joined(parent, manifest_file)))
    return std::nullopt;
  OpenCheckpoint opened = {read_manifest(store, parent).catalog, parent};
  auto is_elsewhere = [&](const auto& value) { return part_of_name(value.name) != part; };
  std::erase_if(opened.catalog.tensors, is_elsewhere);
  std::erase_if(opened.catalog.objects, is_elsewhere);
  return opened;
}

std::optional<OpenCheckpoint> open_simmesh(const Location& location) {
  const Store& store = *location.store;
  for (const char* file : {manifest_file, commit_file})
    if (store.size(joined(location.name, file)))
      return OpenCheckpoint{read_manifest(store, location.name).catalog, location.name};
  return open_part(location);
}

void write_simmesh(const CheckpointSource& source, const Location& to, const WriteOptions&) {
  Commit commit(to);
  constexpr const char* name = "rank_00000.safetensors";
  std::vector<SafetensorsEntry> entries;
  for (const StoredTensor& tensor : source.catalog.tensors) entries.push_back(entry_of(tensor));
  SafetensorsLayout layout = lay_out_safetensors(entries);
  std::vector<std::byte> header = safetensors_header_bytes(layout);
  Manifest manifest;
  manifest.catalog.tensors = source.catalog.tensors;
  manifest.catalog.objects = source.catalog.objects;
  manifest.files.push_back(
      {name, layout.file_bytes(), std::int64_t(header.size()), bits_hash(header)});
  auto file = to.store->create(joined(commit.staging(), name));
  std::vector<std::byte> bytes;
  std::size_t written = 0;
  write_safetensors(*file, layout, [&](std::size_t i) -> Bytes {
    StoredTensor& tensor = manifest.catalog.tensors[i];
    bytes = source.tensor_bytes(source.catalog.tensors[i]);
    tensor.chunks = {{.box = whole(tensor.shape),
                      .file = name,
                      .begin = layout.header.data_begin() + layout.header.tensors[written++].begin,
                      .bytes = std::int64_t(bytes.size()),
                      .hash = bits_hash(bytes)}};
    return bytes;
  });
  file->sync();
  commit.finish(manifest, {.updates_latest = false});
}

// Returns the problem of one file of a manifest, with its size or its header; nullopt if it is as
// it was written.
std::optional<std::string> problem_of(const Store& store, const std::string& path,
                                      const ManifestFile& file) {
  std::optional<std::int64_t> size = store.size(path);
  if (size != file.bytes)
    return fmt::format("{}: {}, expected {} bytes", joined(store.name(), path),
                       size ? fmt::format("{} bytes", *size) : "missing", file.bytes);
  std::vector<std::byte> header(static_cast<std::size_t>(file.header_bytes));
  store.read(path, 0, header);
  if (bits_hash(header) == file.header_hash) return std::nullopt;
  return fmt::format("{}, bytes [0, {}): the header is corrupt", joined(store.name(), path),
                     file.header_bytes);
}

// Compares the files at a place, a whole checkpoint or one part, with the manifest.
std::vector<std::string> simmesh_problems(const Location& location, const OpenCheckpoint& opened) {
  const Store& store = *location.store;
  std::string below = location.name.empty() ? "" : location.name + "/";
  std::vector<std::string> problems;
  std::set<std::string> expected = {joined(opened.folder, manifest_file),
                                    joined(opened.folder, commit_file)};
  for (const ManifestFile& file : read_manifest(store, opened.folder).files) {
    std::string path = joined(opened.folder, file.name);
    if (!path.starts_with(below)) continue;
    expected.insert(path);
    if (auto problem = problem_of(store, path, file)) problems.push_back(*problem);
  }
  for (const std::string& file : store.files(location.name))
    if (std::string path = joined(location.name, file); !expected.contains(path))
      problems.push_back(
          fmt::format("{}: not a file of the checkpoint", joined(store.name(), path)));
  return problems;
}

}  // namespace

const Format simmesh_format = {.name = "simmesh",
                               .title = "simmesh's own",
                               .marks = commit_file,
                               .opens = open_simmesh,
                               .writes = write_simmesh,
                               .problems = simmesh_problems};

}  // namespace simmesh::checkpoint
