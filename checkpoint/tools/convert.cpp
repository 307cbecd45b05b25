#include "checkpoint/tools/convert.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/dcp/dcp_writer.h"
#include "checkpoint/hugging_face/hugging_face.h"
#include "checkpoint/read/open.h"
#include "checkpoint/read/read_tensor.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "checkpoint/save_load/commit.h"
#include "core/check/bits_hash.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::pair<CheckpointFormat, std::string_view> format_names[] = {
    {CheckpointFormat::simmesh, "simmesh"},
    {CheckpointFormat::safetensors, "safetensors"},
    {CheckpointFormat::dcp, "dcp"}};

SafetensorsEntry entry_of(const StoredTensor& tensor) {
  return {tensor.name, tensor.dtype, tensor.shape, 0, 0};
}

// Source is a checkpoint that is read tensor by tensor.
struct Source {
  const Store& store;
  OpenCheckpoint opened;

  const std::vector<StoredTensor>& tensors() const { return opened.catalog.tensors; }
  std::vector<std::byte> read(const StoredTensor& tensor) const {
    return read_tensor(store, opened.folder, tensor);
  }
};

void write_ours(const Source& source, const Location& to) {
  Commit commit(to);
  constexpr const char* name = "rank_00000.safetensors";
  std::vector<SafetensorsEntry> entries;
  for (const StoredTensor& tensor : source.tensors()) entries.push_back(entry_of(tensor));
  SafetensorsLayout layout = lay_out_safetensors(entries);
  std::vector<std::byte> header = safetensors_header_bytes(layout);
  Manifest manifest;
  manifest.catalog = {"simmesh", source.tensors(), source.opened.catalog.objects};
  manifest.files.push_back(
      {name, layout.file_bytes(), std::int64_t(header.size()), bits_hash(header)});
  auto file = to.store->create(joined(commit.staging(), name));
  std::vector<std::byte> bytes;
  std::size_t written = 0;
  write_safetensors(*file, layout, [&](std::size_t i) -> Bytes {
    StoredTensor& tensor = manifest.catalog.tensors[i];
    bytes = source.read(source.tensors()[i]);
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

SafetensorsMetadata text_metadata(const std::vector<StoredObject>& objects) {
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  for (const StoredObject& object : objects) {
    const auto* text = object.value.get<std::string>();
    metadata[object.name] = text ? *text : value_text(object.value);
  }
  return metadata;
}

// Which tensors go into which file: in order, until a file has enough bytes.
std::vector<std::vector<std::size_t>> files_of(const Source& source, std::int64_t file_bytes) {
  std::vector<std::vector<std::size_t>> files(1);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < source.tensors().size(); ++i) {
    std::int64_t more = source.tensors()[i].bytes();
    if (!files.back().empty() && bytes + more > file_bytes) {
      files.emplace_back();
      bytes = 0;
    }
    files.back().push_back(i);
    bytes += more;
  }
  return files;
}

void write_hugging_face(const Source& source, const Location& to, std::int64_t file_bytes) {
  std::vector<std::vector<std::size_t>> files = files_of(source, file_bytes);
  JsonValue weight_map = JsonValue::object();
  JsonValue::Object& places = std::get<JsonValue::Object>(weight_map.value);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files.size());
    std::vector<SafetensorsEntry> entries;
    for (std::size_t tensor : files[i]) {
      entries.push_back(entry_of(source.tensors()[tensor]));
      places.emplace_back(entries.back().name, JsonValue::of(name));
      total += source.tensors()[tensor].bytes();
    }
    auto file = to.store->create(joined(to.name, name));
    std::vector<std::byte> bytes;
    write_safetensors(*file,
                      lay_out_safetensors(entries, text_metadata(source.opened.catalog.objects)),
                      [&](std::size_t entry) -> Bytes {
                        return bytes = source.read(source.tensors()[files[i][entry]]);
                      });
    file->sync();
  }
  JsonValue index = JsonValue::object(), metadata = JsonValue::object();
  metadata.set("total_size", JsonValue::of(total));
  index.set("metadata", std::move(metadata));
  index.set("weight_map", std::move(weight_map));
  write_synced(*to.store, joined(to.name, safetensors_index_file), index.text() + "\n");
  to.store->sync_folder(to.name);
}

void write_dcp(const Source& source, const Location& to) {
  DcpWriter writer(*to.store, to.name);
  for (const StoredObject& object : source.opened.catalog.objects) writer.add(object);
  for (const StoredTensor& tensor : source.tensors()) {
    std::vector<Box> boxes;
    for (const StoredChunk& chunk : tensor.chunks) boxes.push_back(chunk.box);
    writer.add(tensor, boxes, [&](std::size_t i) {
      return read_chunk(source.store, source.opened.folder, tensor, tensor.chunks[i]);
    });
  }
  writer.finish();
}

// Leaves a catalog the weights, by the names that the model has for them.
void keep_weights(Catalog& catalog, const Location& from) {
  std::vector<StoredTensor> weights;
  for (StoredTensor& tensor : catalog.tensors)
    for (std::string_view prefix : {"model.", "master."})
      if (tensor.name.starts_with(prefix)) {
        tensor.name.erase(0, prefix.size());
        weights.push_back(std::move(tensor));
        break;
      }
  if (weights.empty())
    raise(ErrorKind::value_error, "checkpoint/convert",
          "{}: expected tensors under 'model.' or 'master.', got none", from.text());
  catalog = {catalog.format, std::move(weights), {}, {}};
  check_catalog(catalog);
}

}  // namespace

std::string_view to_string(CheckpointFormat format) {
  for (const auto& [known, name] : format_names)
    if (known == format) return name;
  return "";
}

CheckpointFormat format_from_string(std::string_view name) {
  for (const auto& [format, known] : format_names)
    if (known == name) return format;
  raise(ErrorKind::value_error, "checkpoint/convert",
        "expected the format simmesh, safetensors or dcp, got '{}'", name);
}

ConvertReport convert(const Location& from, const Location& to, const ConvertOptions& options) {
  Source source = {*from.store, open(from)};
  if (options.weights_only) keep_weights(source.opened.catalog, from);
  ConvertReport report = {std::int64_t(source.tensors().size()),
                          std::int64_t(source.opened.catalog.objects.size()), 0};
  for (const StoredTensor& tensor : source.tensors()) report.bytes += tensor.bytes();
  if (options.format == CheckpointFormat::simmesh) {
    write_ours(source, to);
    return report;
  }
  if (!to.store->files(to.name).empty() || to.store->size(to.name))
    raise(ErrorKind::value_error, "checkpoint/convert",
          "{} exists; choose another name, or remove it first", to.text());
  try {
    if (options.format == CheckpointFormat::dcp)
      write_dcp(source, to);
    else
      write_hugging_face(source, to, options.file_bytes);
  } catch (const Error&) {
    to.store->remove(to.name);
    throw;
  }
  return report;
}

}  // namespace simmesh::checkpoint
