#include "checkpoint/hugging_face/weight_map.h"

#include "core/check/error.h"
#include "core/check/json_value.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::int64_t index_bytes_max = 64 << 20;

}  // namespace

std::map<std::string, std::string> read_weight_map(const Store& store, const std::string& folder,
                                                   const std::string& index_file) {
  std::string path = joined(folder, index_file), place = joined(store.name(), path);
  JsonValue json;
  try {
    json = JsonValue::parse(read_text(store, path, index_bytes_max), "checkpoint/hugging_face");
  } catch (const Error& error) {
    throw Error(error.kind(), "checkpoint/hugging_face",
                fmt::format("{}: {}", place, error.message()));
  }
  const JsonValue* map = json.find("weight_map");
  const auto* entries = map == nullptr ? nullptr : map->get<JsonValue::Object>();
  if (entries == nullptr)
    raise(ErrorKind::value_error, "checkpoint/hugging_face", "{}: no object weight_map", place);
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : *entries) {
    const auto* text = file.get<std::string>();
    if (text == nullptr || text->empty() || text->find("..") != text->npos || text->front() == '/')
      raise(ErrorKind::value_error, "checkpoint/hugging_face", "{}: the file of '{}' is {}", place,
            name, file.text(40));
    files[name] = *text;
  }
  return files;
}

}  // namespace simmesh::checkpoint
