#include "checkpoint/catalog/manifest.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/check/append_text.h"
#include "core/check/bits_hash.h"
#include "core/check/error.h"
#include "core/check/hash_text.h"
#include "core/check/join_text.h"
#include "core/check/json_fault.h"

namespace simmesh::checkpoint {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view manifest_format = "simmesh checkpoint 1";
constexpr std::int64_t manifest_bytes_max = std::int64_t{4} << 30;
constexpr std::int64_t commit_bytes_max = 4096;
// Functions recurse as deep as a value is nested, so the depth is bounded before a value is made.
constexpr int manifest_nesting_max = 128;
// A number that JSON doesn't have is an object with this key alone.
constexpr const char* number_key = "$number";

[[noreturn]] void refuse_manifest(const std::string& why) {
  raise(ErrorKind::value_error, "checkpoint/manifest", "{}", why);
}

std::uint64_t parse_hash(const std::string& text) {
  std::optional<std::uint64_t> hash = hash_from_text(text);
  if (!hash) refuse_manifest("expected a hash of 16 digits, got '" + text + "'");
  return *hash;
}

std::uint64_t hash_of(std::string_view text) {
  return bits_hash(gsl::as_bytes(gsl::span<const char>(text.data(), text.size())));
}

void check_nesting(std::string_view text) {
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (is_quoted) {
      if (c == '\\') ++i;
      if (c == '"') is_quoted = false;
    } else if (c == '"') {
      is_quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > manifest_nesting_max)
        refuse_manifest(fmt::format("expected at most {} levels, got more", manifest_nesting_max));
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

Json parsed(std::string_view text) {
  check_nesting(text);
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    refuse_manifest("not a manifest: " + json_fault(error.what()));
  }
}

Json json_of_value(const JsonValue& value) {
  if (const auto* flag = value.get<bool>()) return *flag;
  if (const auto* integer = value.get<std::int64_t>()) return *integer;
  if (const auto* number = value.get<double>()) {
    if (std::isfinite(*number)) return *number;
    return {{number_key, std::isnan(*number) ? "nan" : *number > 0 ? "inf" : "-inf"}};
  }
  if (const auto* text = value.get<std::string>()) return *text;
  if (const auto* list = value.get<JsonValue::List>()) {
    Json result = Json::array();
    for (const JsonValue& entry : *list) result.push_back(json_of_value(entry));
    return result;
  }
  if (const auto* object = value.get<JsonValue::Object>()) {
    if (object->size() == 1 && object->front().first == number_key)
      refuse_manifest(fmt::format("an object whose only key is '{}' can't be saved", number_key));
    Json result = Json::object();
    for (const auto& [key, entry] : *object) result[key] = json_of_value(entry);
    return result;
  }
  return nullptr;
}

// Refuses numbers that the library would round or wrap: those with a point or with 64 bits.
// Returns a value as text, or the begin of a long one.
std::string shown(const Json& json) {
  constexpr std::size_t shown_max = 60;
  std::string text = json.dump(-1, ' ', true);
  return text.size() <= shown_max ? text : text.substr(0, shown_max) + "...";
}

[[noreturn]] void refuse_member(std::string_view key, std::string_view expected, const Json& got) {
  refuse_manifest(fmt::format("key '{}': expected {}, got {}", key, expected, shown(got)));
}

const Json& member(const Json& json, const char* key) {
  if (!json.is_object())
    refuse_manifest(fmt::format("expected an object with the key '{}', got {}", key, shown(json)));
  auto found = json.find(key);
  if (found == json.end())
    refuse_manifest(fmt::format("expected the key '{}', got {} without it", key, shown(json)));
  return *found;
}

std::string text_at(const Json& json, const char* key) {
  const Json& text = member(json, key);
  if (!text.is_string()) refuse_member(key, "a text", text);
  return text.get<std::string>();
}

const Json& list_at(const Json& json, const char* key) {
  const Json& list = member(json, key);
  if (!list.is_array()) refuse_member(key, "a list", list);
  return list;
}

std::int64_t integer_of(const Json& json, std::string_view key) {
  constexpr auto max = std::uint64_t(std::numeric_limits<std::int64_t>::max());
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::uint64_t>() > max))
    refuse_member(key, "an integer of 64 bits", json);
  return json.get<std::int64_t>();
}

std::int64_t integer_at(const Json& json, const char* key) {
  return integer_of(member(json, key), key);
}

double special_number(const std::string& name) {
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "-inf") return -std::numeric_limits<double>::infinity();
  refuse_manifest("expected nan, inf or -inf, got '" + name + "'");
}

JsonValue value_of_json(const Json& json) {
  if (json.is_boolean()) return JsonValue(json.get<bool>());
  if (json.is_number_integer()) return JsonValue(integer_of(json, "value"));
  if (json.is_number()) return JsonValue(json.get<double>());
  if (json.is_string()) return JsonValue(json.get<std::string>());
  if (json.is_array()) {
    JsonValue::List list;
    for (const Json& entry : json) list.push_back(value_of_json(entry));
    return {std::move(list)};
  }
  if (json.is_object()) {
    if (json.size() == 1 && json.contains(number_key))
      return JsonValue(special_number(text_at(json, number_key)));
    JsonValue::Object object;
    for (const auto& entry : json.items())
      object.emplace_back(entry.key(), value_of_json(entry.value()));
    return {std::move(object)};
  }
  return {};
}

void check_dim_count(std::size_t dims) {
  if (dims > std::size_t(dims_max))
    refuse_manifest(fmt::format("expected a list of at most {} sizes, got {}", dims_max, dims));
}

Dims dims_at(const Json& json, const char* key) {
  Dims sizes;
  const Json& list = list_at(json, key);
  check_dim_count(list.size());
  for (const Json& entry : list) sizes.push_back(integer_of(entry, key));
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; }))
    refuse_member(key, "a list of sizes", list);
  return sizes;
}

StoredTensor tensor_of_json(const Json& json) {
  StoredTensor tensor;
  tensor.name = text_at(json, "name");
  auto dtype = find_stored_dtype(text_at(json, "dtype"));
  if (!dtype)
    refuse_manifest("'" + tensor.name + "' has the dtype " + shown(member(json, "dtype")));
  tensor.dtype = *dtype;
  tensor.shape = dims_at(json, "shape");
  for (const Json& entry : list_at(json, "chunks")) {
    StoredChunk chunk = {.box = {dims_at(entry, "offsets"), dims_at(entry, "sizes")},
                         .file = text_at(entry, "file"),
                         .begin = integer_at(entry, "begin"),
                         .bytes = integer_at(entry, "bytes")};
    if (entry.contains("hash")) chunk.hash = parse_hash(text_at(entry, "hash"));
    if (entry.contains("strides")) {
      Dims strides = dims_at(entry, "strides");
      if (strides.size() != chunk.box.sizes.size())
        refuse_manifest("expected a stride for each dim of a chunk");
      chunk.strides = Strides(strides.begin(), strides.end());
    }
    tensor.chunks.push_back(std::move(chunk));
  }
  return tensor;
}

// Checks that each chunk is within its file, and has the bytes of its box.
void check_places(const Manifest& manifest) {
  std::map<std::string, const ManifestFile*> files;
  for (const ManifestFile& file : manifest.files) files[file.name] = &file;
  for (const StoredTensor& tensor : manifest.catalog.tensors)
    for (const StoredChunk& chunk : tensor.chunks) {
      auto found = files.find(chunk.file);
      std::int64_t bits = chunk.box.numel() * bits_per_element(tensor.dtype);
      if (found == files.end() || chunk.strides || chunk.begin < 0 || chunk.bytes != bits / 8 ||
          chunk.begin > found->second->bytes || chunk.bytes > found->second->bytes - chunk.begin)
        refuse_manifest(fmt::format("the chunk {} of '{}' isn't within its file",
                                    to_string(chunk.box), tensor.name));
    }
}

Catalog catalog_of_json(const Json& json, std::string format) {
  Catalog catalog = {std::move(format), {}, {}};
  for (const Json& entry : list_at(json, "tensors"))
    catalog.tensors.push_back(tensor_of_json(entry));
  for (const Json& entry : list_at(json, "objects"))
    catalog.objects.push_back({text_at(entry, "name"), value_of_json(member(entry, "value")), {}});
  return catalog;
}

Manifest manifest_of_json(const Json& json) {
  if (const Json& format = member(json, "format"); format != manifest_format)
    refuse_manifest(
        fmt::format("expected the format '{}', got {}", manifest_format, shown(format)));
  Manifest manifest;
  manifest.world = integer_at(json, "world");
  for (const Json& entry : list_at(json, "files")) {
    ManifestFile file = {text_at(entry, "name"), integer_at(entry, "bytes"),
                         integer_at(entry, "header_bytes"),
                         parse_hash(text_at(entry, "header_hash"))};
    if (file.header_bytes < 0 || file.header_bytes > file.bytes)
      refuse_manifest(fmt::format("the file '{}' has {} bytes, {} of them in its header", file.name,
                                  file.bytes, file.header_bytes));
    manifest.files.push_back(std::move(file));
  }
  manifest.catalog = catalog_of_json(json, "");
  check_catalog(manifest.catalog);
  check_places(manifest);
  return manifest;
}

std::string dumped(const Json& json) {
  try {
    std::string text = json.dump();
    check_nesting(text);
    return text;
  } catch (const Json::type_error&) {
    refuse_manifest("a name or text to save isn't UTF-8");
  }
}

// Writes a list without a tree of JSON values, since there may be many tensors.
void add_dims(std::string& text, DimSpan dims) {
  check_dim_count(dims.size());
  append_text(text, "[{}]", join_text(dims, ","));
}

void add_chunk(std::string& text, const StoredChunk& chunk) {
  text += "{\"offsets\":";
  add_dims(text, chunk.box.offsets);
  text += ",\"sizes\":";
  add_dims(text, chunk.box.sizes);
  append_text(text, ",\"file\":{},\"begin\":{},\"bytes\":{}", dumped(chunk.file), chunk.begin,
              chunk.bytes);
  if (chunk.hash) text += ",\"hash\":\"" + hash_text(*chunk.hash) + "\"";
  if (chunk.strides) {
    text += ",\"strides\":";
    add_dims(text, Dims(chunk.strides->begin(), chunk.strides->end()));
  }
  text += "}";
}

void add_tensor(std::string& text, const StoredTensor& tensor) {
  append_text(text, "{{\"name\":{},\"dtype\":\"{}\",\"shape\":", dumped(tensor.name),
              to_string(tensor.dtype));
  add_dims(text, tensor.shape);
  text += ",\"chunks\":[";
  for (std::size_t i = 0; i < tensor.chunks.size(); ++i) {
    if (i > 0) text += ",";
    add_chunk(text, tensor.chunks[i]);
  }
  text += "]}";
}

// Returns the keys that a catalog and a manifest share, without the braces.
std::string contents_text(const Catalog& catalog) {
  std::string text = "\"tensors\":[";
  for (std::size_t i = 0; i < catalog.tensors.size(); ++i) {
    if (i > 0) text += ",";
    add_tensor(text, catalog.tensors[i]);
  }
  Json objects = Json::array();
  for (const StoredObject& object : catalog.objects)
    objects.push_back({{"name", object.name}, {"value", json_of_value(object.value)}});
  std::string rest = dumped({{"objects", std::move(objects)}});
  return text + "]," + rest.substr(1, rest.size() - 2);
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  Json files = Json::array();
  for (const ManifestFile& file : manifest.files)
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {"header_bytes", file.header_bytes},
                     {"header_hash", hash_text(file.header_hash)}});
  return fmt::format("{{\"format\":\"{}\",\"world\":{},\"files\":{},{}}}\n", manifest_format,
                     manifest.world, dumped(files), contents_text(manifest.catalog));
}

std::string value_text(const JsonValue& value) { return dumped(json_of_value(value)); }
JsonValue parse_value(std::string_view text) { return value_of_json(parsed(text)); }

std::string catalog_text(const Catalog& catalog) {
  return fmt::format("{{{},\"format\":{}}}", contents_text(catalog), dumped(catalog.format));
}

Catalog unchecked_catalog(std::string_view text) {
  Json json = parsed(text);
  return catalog_of_json(json, text_at(json, "format"));
}

Catalog parse_catalog(std::string_view text) {
  Catalog catalog = unchecked_catalog(text);
  check_catalog(catalog);
  return catalog;
}

Manifest parse_manifest(std::string_view text) { return manifest_of_json(parsed(text)); }

namespace {

std::string commit_line(const CommitRecord& record) {
  return fmt::format(
      "{{\"number\": {}, \"manifest_bytes\": {}, \"manifest_hash\": \"{}\", \"hash\": \"",
      record.number, record.manifest_bytes, hash_text(record.manifest_hash));
}

}  // namespace

std::string commit_text(const CommitRecord& record) {
  std::string line = commit_line(record);
  return line + hash_text(hash_of(line)) + "\"}\n";
}

CommitRecord parse_commit(std::string_view text) {
  CommitRecord record;
  Json json = Json::parse(text, nullptr, false);
  try {
    record = {integer_at(json, "number"), integer_at(json, "manifest_bytes"),
              parse_hash(text_at(json, "manifest_hash"))};
  } catch (const Error&) {
    refuse_manifest("the commit record is not what was written");
  }
  // A change anywhere in the text makes it differ from the one that these values have.
  if (commit_text(record) != text) refuse_manifest("the commit record is not what was written");
  return record;
}

std::optional<CommitRecord> read_commit(const Store& store, const std::string& folder) {
  std::string path = joined(folder, commit_file);
  if (!store.size(path)) return std::nullopt;
  try {
    return parse_commit(read_text(store, path, commit_bytes_max));
  } catch (const Error& error) {
    throw Error(ErrorKind::value_error, "checkpoint/manifest",
                fmt::format("{}: {}", joined(store.name(), path), error.message()));
  }
}

Manifest read_manifest(const Store& store, const std::string& folder) {
  std::string path = joined(store.name(), joined(folder, manifest_file));
  std::optional<CommitRecord> commit = read_commit(store, folder);
  if (!commit)
    refuse_manifest(fmt::format("{}: no {}: the checkpoint was never finished",
                                joined(store.name(), folder), commit_file));
  std::string text;
  try {
    text = read_text(store, joined(folder, manifest_file), manifest_bytes_max);
  } catch (const Error& error) {
    refuse_manifest(std::string(error.message()));
  }
  if (std::int64_t(text.size()) != commit->manifest_bytes || hash_of(text) != commit->manifest_hash)
    refuse_manifest(fmt::format("{}: corrupt: {} bytes that are not those that were committed",
                                path, text.size()));
  try {
    return parse_manifest(text);
  } catch (const Error& error) {
    throw Error(error.kind(), "checkpoint/manifest", fmt::format("{}: {}", path, error.message()));
  }
}

}  // namespace simmesh::checkpoint
