#include <algorithm>
#include <fmt/format.h>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/format/formats.h"
#include "checkpoint/format/new_folder.h"
#include "checkpoint/hugging_face/hugging_face.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::string_view safetensors_ending = ".safetensors";

// Opens a file by itself, whatever its name.
OpenCheckpoint open_file(const Location& location) {
  try {
    return {read_safetensors(*location.store, location.name), ""};
  } catch (const Error& error) {
    if (location.name.ends_with(safetensors_ending)) throw;
    throw Error(error.kind(), "checkpoint/open",
                fmt::format("{}: expected a folder or a safetensors file, and as such: {}",
                            location.text(), error.message()));
  }
}

std::optional<OpenCheckpoint> open_safetensors(const Location& location) {
  const Store& store = *location.store;
  if (store.size(location.name)) return open_file(location);
  std::vector<std::string> files = store.files(location.name);
  auto has_any = [&](const auto& is_meant) {
    return std::any_of(files.begin(), files.end(), [&](const std::string& file) {
      return file.ends_with(safetensors_ending) && is_meant(file);
    });
  };
  // DCP's consolidated files may be wrong, unlike its shards: a tensor without dims is zero there.
  if (has_any([](const std::string& file) { return file.starts_with("sharded/"); })) {
    std::string shards = joined(location.name, "sharded");
    return OpenCheckpoint{read_hugging_face(store, shards), shards};
  }
  if (has_any([](const std::string& file) { return file.find('/') == file.npos; }))
    return OpenCheckpoint{read_hugging_face(store, location.name), location.name};
  return std::nullopt;
}

// Returns the values that are no tensors as text metadata, which each file has.
SafetensorsMetadata text_metadata(const std::vector<StoredObject>& objects) {
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  for (const StoredObject& object : objects) {
    const auto* text = object.value.get<std::string>();
    metadata[object.name] = text ? *text : value_text(object.value);
  }
  return metadata;
}

// Returns the tensors of each file, by their places in the list: in order, until a file has enough
// bytes.
std::vector<std::vector<std::size_t>> tensors_of_files(const std::vector<StoredTensor>& tensors,
                                                       std::int64_t file_bytes) {
  std::vector<std::vector<std::size_t>> files(1);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::int64_t more = tensors[i].bytes();
    if (!files.back().empty() && bytes + more > file_bytes) {
      files.emplace_back();
      bytes = 0;
    }
    files.back().push_back(i);
    bytes += more;
  }
  return files;
}

void write_index(const Location& to, JsonValue weight_map, std::int64_t total_size) {
  JsonValue index = JsonValue::object(), metadata = JsonValue::object();
  metadata.set("total_size", JsonValue(total_size));
  index.set("metadata", std::move(metadata));
  index.set("weight_map", std::move(weight_map));
  write_synced(*to.store, joined(to.name, safetensors_index_file), index.text() + "\n");
}

void write_files(const CheckpointSource& source, const Location& to, std::int64_t file_bytes) {
  const std::vector<StoredTensor>& tensors = source.catalog.tensors;
  SafetensorsMetadata metadata = text_metadata(source.catalog.objects);
  std::vector<std::vector<std::size_t>> files = tensors_of_files(tensors, file_bytes);
  JsonValue weight_map = JsonValue::object();
  JsonValue::Object& places = std::get<JsonValue::Object>(weight_map.value);
  std::int64_t total_size = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::string name =
        fmt::format("model-{:05}-of-{:05}{}", i + 1, files.size(), safetensors_ending);
    std::vector<SafetensorsEntry> entries;
    for (std::size_t tensor : files[i]) {
      entries.push_back(entry_of(tensors[tensor]));
      places.emplace_back(entries.back().name, JsonValue(name));
      total_size += tensors[tensor].bytes();
    }
    auto file = to.store->create(joined(to.name, name));
    std::vector<std::byte> bytes;
    write_safetensors(*file, lay_out_safetensors(entries, metadata),
                      [&](std::size_t entry) -> Bytes {
                        return bytes = source.tensor_bytes(tensors[files[i][entry]]);
                      });
    file->sync();
  }
  write_index(to, std::move(weight_map), total_size);
  to.store->sync_folder(to.name);
}

void write_hugging_face(const CheckpointSource& source, const Location& to,
                        const WriteOptions& options) {
  in_new_folder(to, [&] { write_files(source, to, options.file_bytes); });
}

std::vector<std::string> safetensors_problems(const Location& location,
                                              const OpenCheckpoint& opened) {
  if (location.store->size(location.name)) return {};
  return copy_problems(*location.store, opened.folder);
}

// Pairs of F4 become twice as many elements.
bool is_held_as_safetensors(StoredDType dtype) {
  return is_safetensors_dtype(dtype) || dtype == StoredDType::f4_x2;
}

}  // namespace

const Format safetensors_format = {.name = "safetensors",
                                   .title = "safetensors",
                                   .marks = "*.safetensors",
                                   .opens = open_safetensors,
                                   .writes = write_hugging_face,
                                   .holds = is_held_as_safetensors,
                                   .problems = safetensors_problems};

}  // namespace simmesh::checkpoint
