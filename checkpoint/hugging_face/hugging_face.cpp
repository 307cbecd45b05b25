#include "checkpoint/hugging_face/hugging_face.h"

#include <algorithm>
#include <map>
#include <set>

#include "checkpoint/hugging_face/weight_map.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr const char* sharding_key = "DCP_SHARDING_INFO";

template <class... Args>
[[noreturn]] void refuse_file(const std::string& place, fmt::format_string<Args...> format,
                              Args&&... args) {
  raise(ErrorKind::value_error, "checkpoint/hugging_face", "{}: {}", place,
        fmt::format(format, std::forward<Args>(args)...));
}

JsonValue parse_json(const std::string& place, std::string_view text) {
  try {
    return JsonValue::parse(text, "checkpoint/hugging_face");
  } catch (const Error& error) {
    refuse_file(place, "{}", error.message());
  }
}

// Returns the offsets of the boxes in one file, by tensor; none if the file has whole tensors.
std::map<std::string, Dims> saved_offsets(const std::string& place,
                                          const SafetensorsHeader& header) {
  std::map<std::string, Dims> offsets;
  if (!header.metadata || !header.metadata->contains(sharding_key)) return offsets;
  JsonValue info = parse_json(place, header.metadata->at(sharding_key));
  const auto* entries = info.get<JsonValue::Object>();
  if (entries == nullptr) refuse_file(place, "{} is no object", sharding_key);
  for (const auto& [name, entry] : *entries) {
    const JsonValue* saved = entry.find("saved_offsets");
    const auto* list = saved == nullptr ? nullptr : saved->get<JsonValue::List>();
    if (list == nullptr) refuse_file(place, "{}: '{}' has no saved_offsets", sharding_key, name);
    Dims& box = offsets[name];
    for (const JsonValue& offset : *list) {
      const auto* number = offset.get<std::int64_t>();
      if (number == nullptr || *number < 0)
        refuse_file(place, "{}: '{}' has the offset {}", sharding_key, name, offset.text(40));
      box.push_back(*number);
    }
  }
  return offsets;
}

// StoredTwice is a box that two files have.
struct StoredTwice {
  std::string name;
  StoredChunk first, second;
};

// HuggingFaceReader joins the files of a folder to one catalog.
class HuggingFaceReader {
 public:
  HuggingFaceReader(const Store& store, std::string folder)
      : store_(store), folder_(std::move(folder)) {}

  Catalog read() {
    for (const std::string& file : files()) add(file);
    for (StoredTensor& tensor : catalog_.tensors) check_chunks(tensor);
    for (const auto& [name, file] : wanted_)
      if (!places_.contains(name))
        refuse_file(place(safetensors_index_file), "'{}' isn't in {}", name, file);
    return std::move(catalog_);
  }
  std::vector<StoredTwice> copies() { return std::move(copies_); }

 private:
  std::string place(const std::string& file) const {
    return joined(store_.name(), joined(folder_, file));
  }
  std::vector<std::string> files();
  void add(const std::string& file);
  void add_box(const std::string& file, const SafetensorsHeader& header,
               const SafetensorsEntry& entry, Dims offsets);

  const Store& store_;
  std::string folder_;
  Catalog catalog_;
  std::map<std::string, std::size_t> places_;  // indices in the catalog
  bool has_index_ = false;
  std::map<std::string, std::string> wanted_;  // the file of each tensor, by the index file
  std::vector<StoredTwice> copies_;
};

std::vector<std::string> HuggingFaceReader::files() {
  has_index_ = store_.size(joined(folder_, safetensors_index_file)).has_value();
  if (has_index_) wanted_ = read_weight_map(store_, folder_, safetensors_index_file);
  std::set<std::string> named;
  for (const auto& [name, file] : wanted_) named.insert(file);
  if (!named.empty()) return {named.begin(), named.end()};
  std::vector<std::string> found;
  for (const std::string& file : store_.files(folder_))
    if (file.ends_with(".safetensors") && file.find('/') == file.npos) found.push_back(file);
  if (found.empty()) refuse_file(joined(store_.name(), folder_), "no safetensors file");
  return found;
}

void HuggingFaceReader::add_box(const std::string& file, const SafetensorsHeader& header,
                                const SafetensorsEntry& entry, Dims offsets) {
  auto [found, is_new] = places_.emplace(entry.name, catalog_.tensors.size());
  if (is_new)
    catalog_.tensors.push_back({entry.name, entry.dtype, Shape(entry.shape.size(), 0), {}});
  StoredTensor& tensor = catalog_.tensors[found->second];
  if (tensor.dtype != entry.dtype || tensor.shape.size() != entry.shape.size())
    refuse_file(place(file), "'{}' is {}{}, but another file has {} with {} dims", entry.name,
                to_string(entry.dtype), to_string(entry.shape), to_string(tensor.dtype),
                tensor.shape.size());
  for (std::size_t dim = 0; dim < offsets.size(); ++dim) {
    std::int64_t end;
    if (__builtin_add_overflow(offsets[dim], entry.shape[dim], &end))
      refuse_file(place(file), "'{}' has offsets whose end overflows", entry.name);
    tensor.shape[dim] = std::max(tensor.shape[dim], end);
  }
  Box box = {std::move(offsets), entry.shape};
  // Several ranks may store the same box.
  StoredChunk chunk = {.box = std::move(box),
                       .file = file,
                       .begin = header.data_begin() + entry.begin,
                       .bytes = entry.bytes()};
  for (const StoredChunk& other : tensor.chunks)
    if (other.box == chunk.box) {
      copies_.push_back({entry.name, other, std::move(chunk)});
      return;
    }
  tensor.chunks.push_back(std::move(chunk));
}

void HuggingFaceReader::add(const std::string& file) {
  SafetensorsHeader header = read_safetensors_header(store_, joined(folder_, file));
  std::map<std::string, Dims> offsets = saved_offsets(place(file), header);
  for (const SafetensorsEntry& entry : header.tensors) {
    if (auto wanted = wanted_.find(entry.name);
        has_index_ && (wanted == wanted_.end() || wanted->second != file))
      refuse_file(place(file), "'{}' is here, but the index says otherwise", entry.name);
    auto own = offsets.find(entry.name);
    Dims at = own == offsets.end() ? Dims(entry.shape.size(), 0) : own->second;
    if (at.size() != entry.shape.size())
      refuse_file(place(file), "'{}' has {} dims and {} offsets", entry.name, entry.shape.size(),
                  at.size());
    if (own == offsets.end() && places_.contains(entry.name))
      refuse_file(place(file), "'{}' is in another file too", entry.name);
    add_box(file, header, entry, std::move(at));
  }
}

}  // namespace

Catalog read_hugging_face(const Store& store, const std::string& folder) {
  return HuggingFaceReader(store, folder).read();
}

std::vector<std::string> copy_problems(const Store& store, const std::string& folder) {
  constexpr std::int64_t at_once = 1 << 20;
  HuggingFaceReader reader(store, folder);
  reader.read();
  std::vector<std::string> problems;
  std::vector<std::byte> first, second;
  for (const StoredTwice& copy : reader.copies()) {
    for (std::int64_t at = 0; at < copy.first.bytes; at += at_once) {
      first.resize(std::size_t(std::min(at_once, copy.first.bytes - at)));
      second.resize(first.size());
      store.read(joined(folder, copy.first.file), copy.first.begin + at, first);
      store.read(joined(folder, copy.second.file), copy.second.begin + at, second);
      if (first == second) continue;
      problems.push_back(fmt::format("{}: '{}' {} has other bytes than in {}",
                                     joined(store.name(), joined(folder, copy.second.file)),
                                     copy.name, to_string(copy.second.box), copy.first.file));
      break;
    }
  }
  return problems;
}

Catalog read_safetensors(const Store& store, const std::string& file) {
  SafetensorsHeader header = read_safetensors_header(store, file);
  Catalog catalog;
  for (const SafetensorsEntry& entry : header.tensors)
    catalog.tensors.push_back({entry.name,
                               entry.dtype,
                               entry.shape,
                               {{.box = whole(entry.shape),
                                 .file = file,
                                 .begin = header.data_begin() + entry.begin,
                                 .bytes = entry.bytes()}}});
  if (header.metadata)
    for (const auto& [key, value] : *header.metadata)
      catalog.objects.push_back({key, JsonValue(value), {}});
  return catalog;
}

}  // namespace simmesh::checkpoint
