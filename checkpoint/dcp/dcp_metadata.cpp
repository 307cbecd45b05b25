#include "checkpoint/dcp/dcp_metadata.h"

#include <fmt/format.h>
#include <map>
#include <set>

#include "checkpoint/torch_file/pickle.h"
#include "checkpoint/torch_file/pickle_json.h"
#include "checkpoint/torch_file/torch_types.h"
#include "checkpoint/torch_file/torch_view.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;

template <class... Args>
[[noreturn]] void refuse_metadata(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::value_error, "checkpoint/dcp",
              fmt::format(format, std::forward<Args>(args)...));
}

// Returns the state of an object of one of the metadata's classes.
PickleValue state_of(PickleValue value, std::string_view name) {
  const auto& items = as_object(value, fmt::format("torch.distributed.checkpoint.{}", name));
  if (items.size() < 3) refuse_metadata("{} without its fields", name);
  return items[2];
}

// PlaceKey finds the place of a chunk, by the tensor's name and the chunk's offsets. DCP's index of
// a chunk is only a hint.
using PlaceKey = std::pair<std::string, std::vector<std::int64_t>>;

struct Place {
  std::string file;
  std::int64_t begin, bytes;
};

class MetadataReader {
 public:
  explicit MetadataReader(PickleValue root) : state_(state_of(root, "metadata.Metadata")) {}

  DcpMetadata read() {
    DcpMetadata metadata;
    if (PickleValue version = find_field(state_, "version"))
      metadata.version = as_text(version, "version");
    read_places();
    read_paths(metadata);
    PickleValue entries = field(state_, "state_dict_metadata");
    if (entries->kind != Kind::dict) refuse_metadata("state_dict_metadata isn't a dict");
    std::set<std::string> names;
    for (std::size_t i = 0; i < entries->items.size(); i += 2) {
      const std::string& name = as_text(entries->items[i], "a name");
      if (!names.insert(name).second) refuse_metadata("the name '{}' comes twice", name);
      read_entry(name, entries->items[i + 1], metadata);
    }
    return metadata;
  }

 private:
  void read_places();
  void read_paths(DcpMetadata& metadata);
  void read_entry(const std::string& name, PickleValue entry, DcpMetadata& metadata);
  StoredTensor read_tensor(const std::string& name, PickleValue state, std::string& unread);
  std::vector<JsonValue> path_of(const std::string& name) const {
    auto path = paths_.find(name);
    return path == paths_.end() ? std::vector<JsonValue>{} : path->second;
  }
  const Place& place_of(const std::string& name, const Dims& offsets) const;

  PickleValue state_;
  std::map<PlaceKey, Place> places_;
  std::map<std::string, std::vector<JsonValue>> paths_;
};

void MetadataReader::read_places() {
  PickleValue storage = field(state_, "storage_data");
  if (storage->kind != Kind::dict) refuse_metadata("storage_data isn't a dict");
  for (std::size_t i = 0; i < storage->items.size(); i += 2) {
    PickleValue index = state_of(storage->items[i], "metadata.MetadataIndex");
    PickleValue info = state_of(storage->items[i + 1], "filesystem._StorageInfo");
    PickleValue offset = find_field(index, "offset");
    Dims offsets;
    if (offset != nullptr && offset->kind != Kind::none) offsets = torch_size(offset, "an offset");
    const std::string& name = as_text(field(index, "fqn"), "fqn");
    PickleValue transforms = find_field(info, "transform_descriptors");
    if (transforms != nullptr && transforms->kind != Kind::none)
      refuse_metadata("'{}' is stored by the extension of another program", name);
    Place place = {as_text(field(info, "relative_path"), "relative_path"),
                   as_integer(field(info, "offset"), "offset"),
                   as_integer(field(info, "length"), "length")};
    if (place.begin < 0 || place.bytes < 0) refuse_metadata("'{}' is at a negative place", name);
    if (!places_.emplace(PlaceKey{name, {offsets.begin(), offsets.end()}}, place).second)
      refuse_metadata("'{}' is stored twice at the offset {}", name, to_string(offsets));
  }
}

void MetadataReader::read_paths(DcpMetadata& metadata) {
  PickleValue planner = find_field(state_, "planner_data");
  if (planner == nullptr || planner->kind == Kind::none) return;
  if (planner->kind != Kind::dict) refuse_metadata("planner_data isn't a dict");
  for (std::size_t i = 0; i < planner->items.size(); i += 2) {
    std::vector<JsonValue> path;
    for (PickleValue part : as_items(planner->items[i + 1], "a path"))
      path.push_back(json_of(part));
    metadata.paths.emplace_back(as_text(planner->items[i], "a name"), std::move(path));
    paths_.insert(metadata.paths.back());
  }
}

const Place& MetadataReader::place_of(const std::string& name, const Dims& offsets) const {
  auto found = places_.find({name, {offsets.begin(), offsets.end()}});
  if (found == places_.end())
    refuse_metadata("'{}': no file has the chunk at the offset {}", name, to_string(offsets));
  return found->second;
}

// Reads a tensor. One of an unknown dtype has no chunks, and `unread` gets its dtype and shape.
StoredTensor MetadataReader::read_tensor(const std::string& name, PickleValue state,
                                         std::string& unread) {
  StoredTensor tensor;
  tensor.name = name;
  tensor.shape = torch_size(field(state, "size"), "a size");
  // PyTorch 2.13 writes five properties; 2.15 writes a sixth, the strides of a local piece.
  const auto& properties =
      as_items(state_of(field(state, "properties"), "metadata.TensorProperties"), "properties");
  if (properties.size() != 5 && properties.size() != 6)
    refuse_metadata("'{}': {} properties, expected 5 or 6", name, properties.size());
  if (properties[0]->kind != Kind::global) refuse_metadata("'{}': expected a dtype", name);
  auto dtype = find_torch_dtype(properties[0]->text.substr(properties[0]->text.find('.') + 1));
  if (!dtype) {
    unread = properties[0]->text + to_string(tensor.shape);
    return tensor;
  }
  tensor.dtype = *dtype;
  for (PickleValue entry : as_items(field(state, "chunks"), "chunks")) {
    PickleValue chunk = state_of(entry, "metadata.ChunkStorageMetadata");
    Box box = {torch_size(field(chunk, "offsets"), "offsets"),
               torch_size(field(chunk, "sizes"), "sizes")};
    const Place& place = place_of(name, box.offsets);
    tensor.chunks.push_back(
        {.box = std::move(box), .file = place.file, .begin = place.begin, .bytes = place.bytes});
  }
  check_chunks(tensor);
  return tensor;
}

void MetadataReader::read_entry(const std::string& name, PickleValue entry, DcpMetadata& metadata) {
  if (entry->kind != Kind::object) refuse_metadata("'{}' is neither a tensor nor bytes", name);
  if (entry->items[0]->text.ends_with(".BytesStorageMetadata")) {
    const Place& place = place_of(name, {});
    metadata.objects.push_back({name, place.file, place.begin, place.bytes, path_of(name)});
    return;
  }
  std::string unread;
  StoredTensor tensor =
      read_tensor(name, state_of(entry, "metadata.TensorStorageMetadata"), unread);
  if (unread.empty())
    metadata.tensors.push_back(std::move(tensor));
  else
    metadata.objects.push_back({name, "", 0, 0, path_of(name), unread});
}

}  // namespace

DcpMetadata read_dcp_metadata(Bytes bytes) {
  Pickle pickle(bytes);
  return MetadataReader(pickle.root()).read();
}

}  // namespace simmesh::checkpoint
