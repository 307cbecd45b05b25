#include "checkpoint/safetensors/safetensors_file.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::size_t length_bytes = 8;

// Returns the length as a file has it, with the lowest byte first.
std::array<std::byte, length_bytes> bytes_of_length(std::uint64_t length) {
  std::array<std::byte, length_bytes> bytes;
  for (std::size_t i = 0; i < length_bytes; ++i) bytes[i] = std::byte(length >> (8 * i));
  return bytes;
}

std::uint64_t length_of(const std::array<std::byte, length_bytes>& bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::uint64_t(bytes[i]) << (8 * i);
  return length;
}

}  // namespace

SafetensorsHeader read_safetensors_header(const Store& store, const std::string& path) {
  auto refuse = [&](const std::string& why) {
    raise(ErrorKind::value_error, "checkpoint/safetensors", "{}: {}", joined(store.name(), path),
          why);
  };
  std::optional<std::int64_t> size = store.size(path);
  if (!size) refuse("no such file");
  if (*size < std::int64_t(length_bytes))
    refuse(fmt::format("{} bytes, expected at least {}", *size, length_bytes));
  std::array<std::byte, length_bytes> first;
  store.read(path, 0, first);
  std::uint64_t length = length_of(first);
  if (length > std::uint64_t(safetensors_header_max))
    refuse(
        fmt::format("a header of {} bytes, expected at most {}", length, safetensors_header_max));
  std::int64_t data_bytes = *size - std::int64_t(length_bytes + length);
  if (data_bytes < 0)
    refuse(fmt::format("a header of {} bytes in a file of {} bytes", length, *size));
  std::string text(length, '\0');
  store.read(path, length_bytes,
             {reinterpret_cast<std::byte*>(text.data()), static_cast<std::size_t>(length)});
  try {
    return parse_safetensors_header(text, data_bytes);
  } catch (const Error& error) {
    throw Error(error.kind(), "checkpoint/safetensors",
                fmt::format("{}: {}", joined(store.name(), path), error.message()));
  }
}

SafetensorsEntry entry_of(const StoredTensor& tensor) {
  SafetensorsEntry entry = {tensor.name, tensor.dtype, tensor.shape, 0, 0};
  if (is_safetensors_dtype(tensor.dtype)) return entry;
  if (tensor.dtype == StoredDType::f4_x2 && !tensor.shape.empty()) {
    entry.dtype = StoredDType::f4;
    entry.shape.back() *= 2;
  } else {
    entry.dtype = StoredDType::u8;
    entry.shape.push_back(bits_per_element(tensor.dtype) / 8);
  }
  return entry;
}

std::int64_t SafetensorsLayout::file_bytes() const {
  return header.data_begin() + (header.tensors.empty() ? 0 : header.tensors.back().end);
}

SafetensorsLayout lay_out_safetensors(const std::vector<SafetensorsEntry>& entries,
                                      const SafetensorsMetadata& metadata) {
  SafetensorsLayout layout;
  layout.header.metadata = metadata;
  layout.order.resize(entries.size());
  std::iota(layout.order.begin(), layout.order.end(), std::size_t{0});
  std::sort(layout.order.begin(), layout.order.end(), [&](std::size_t a, std::size_t b) {
    if (entries[a].dtype != entries[b].dtype) return entries[a].dtype > entries[b].dtype;
    return entries[a].name < entries[b].name;
  });
  std::int64_t end = 0;
  for (std::size_t i : layout.order) {
    SafetensorsEntry entry = entries[i];
    if (entry.name == "__metadata__")
      raise(ErrorKind::value_error, "checkpoint/safetensors",
            "no tensor may have the name __metadata__");
    entry.begin = end;
    entry.end = end += data_bytes(entry);
    layout.header.tensors.push_back(std::move(entry));
  }
  layout.text = safetensors_header_text(layout.header);
  // Raises if the file could not be read back.
  parse_safetensors_header(layout.text, end);
  layout.header.length = std::int64_t(layout.text.size());
  return layout;
}

SafetensorsLayout lay_out_safetensors(const std::vector<WrittenTensor>& tensors,
                                      const SafetensorsMetadata& metadata) {
  std::vector<SafetensorsEntry> entries;
  for (const WrittenTensor& tensor : tensors) {
    entries.push_back({tensor.name, tensor.dtype, tensor.shape, 0, 0});
    if (data_bytes(entries.back()) != std::int64_t(tensor.bytes.size()))
      raise(ErrorKind::value_error, "checkpoint/safetensors",
            "'{}': {} bytes, expected {} for {}{}", tensor.name, tensor.bytes.size(),
            data_bytes(entries.back()), to_string(tensor.dtype), to_string(tensor.shape));
  }
  return lay_out_safetensors(entries, metadata);
}

std::vector<std::byte> safetensors_header_bytes(const SafetensorsLayout& layout) {
  auto length = bytes_of_length(layout.text.size());
  auto text = gsl::as_bytes(gsl::span<const char>(layout.text));
  std::vector<std::byte> bytes(length.begin(), length.end());
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

void write_safetensors(OutputFile& file, const SafetensorsLayout& layout,
                       const std::function<Bytes(std::size_t)>& bytes_of) {
  file.append(safetensors_header_bytes(layout));
  for (std::size_t i : layout.order) file.append(bytes_of(i));
}

void write_safetensors(OutputFile& file, const SafetensorsLayout& layout,
                       const std::vector<WrittenTensor>& tensors) {
  write_safetensors(file, layout, [&](std::size_t i) { return tensors[i].bytes; });
}

void write_safetensors(OutputFile& file, const std::vector<WrittenTensor>& tensors,
                       const SafetensorsMetadata& metadata) {
  write_safetensors(file, lay_out_safetensors(tensors, metadata), tensors);
}

}  // namespace simmesh::checkpoint
