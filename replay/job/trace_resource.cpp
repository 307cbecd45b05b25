#include "replay/job/trace_resource.h"

#include <charconv>
#include <string_view>
#include <vector>

namespace simmesh::replay {

namespace {

constexpr std::string_view folder_ending = "_resources";

std::optional<std::int64_t> take_number(std::string_view& text, std::string_view before) {
  if (!text.starts_with(before)) return std::nullopt;
  text.remove_prefix(before.size());
  std::int64_t number = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc()) return std::nullopt;
  text.remove_prefix(std::size_t(result.ptr - text.data()));
  return number;
}

std::int64_t count_bytes(ByteSource& source) {
  std::vector<char> places(1 << 16);
  std::int64_t bytes = 0;
  while (std::size_t more = source.read(places)) bytes += std::int64_t(more);
  return bytes;
}

std::string_view folder_of(std::string_view file) {
  std::size_t slash = file.rfind('/');
  if (slash == std::string_view::npos) return {};
  std::string_view folder = file.substr(0, slash);
  return folder.substr(folder.find_last_of("/:") + 1);
}

}  // namespace

bool is_resource(std::string_view file) { return folder_of(file).ends_with(folder_ending); }

std::optional<TraceResource> read_resource(ByteSource& source) {
  if (!is_resource(source.name())) return std::nullopt;
  std::string_view name = source.name(), folder = folder_of(name);
  name.remove_prefix(name.rfind('/') + 1);
  TraceResource resource{
      .file = source.name(),
      .trace = std::string(folder.substr(0, folder.size() - folder_ending.size()))};
  auto node = take_number(name, "nid_");
  auto tensor = node ? take_number(name, "_tid_") : std::nullopt;
  if (tensor && name == ".dat") {
    resource.node = node;
    resource.tensor = *tensor;
  }
  resource.bytes = count_bytes(source);
  return resource;
}

std::string resources_name(const std::string& trace_file) {
  std::string_view name = trace_file;
  name.remove_prefix(name.find_last_of("/:") + 1);
  for (std::string_view ending : {".gz", ".json"})
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return std::string(name);
}

}  // namespace simmesh::replay
