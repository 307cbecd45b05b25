#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/safetensors/header.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// read_safetensors_header reads the header of a file in a store, and no data. Raises a ValueError
// that names the file for one that isn't a safetensors file, before it allocates anything by a size
// that the file claims.
SafetensorsHeader read_safetensors_header(const Store& store, const std::string& path);

// WrittenTensor is a tensor to be written: row-major elements.
struct WrittenTensor {
  std::string name;
  StoredDType dtype = StoredDType::f32;
  Shape shape;
  Bytes bytes;
};

using SafetensorsMetadata = std::optional<std::map<std::string, std::string>>;

// SafetensorsLayout is a file as it will be written: its header, and for each tensor of the header
// its place in the list that was given.
struct SafetensorsLayout {
  SafetensorsHeader header;
  std::vector<std::size_t> order;
  std::string text;  // of the header

  std::int64_t file_bytes() const;
};

// lay_out_safetensors orders tensors as the safetensors package does, by dtype and then by name.
// Raises a ValueError for a name that comes twice or isn't UTF-8, for "__metadata__", and for bytes
// that don't fit dtype and shape.
SafetensorsLayout lay_out_safetensors(const std::vector<WrittenTensor>& tensors,
                                      const SafetensorsMetadata& metadata = {});
// The same where only names, dtypes and shapes are known; the offsets of the entries are not looked
// at.
SafetensorsLayout lay_out_safetensors(const std::vector<SafetensorsEntry>& entries,
                                      const SafetensorsMetadata& metadata = {});

// safetensors_header_bytes returns what stands before the data of a file: the length of the
// header's text, and the text.
std::vector<std::byte> safetensors_header_bytes(const SafetensorsLayout& layout);

// write_safetensors appends a whole file, with the bytes that the safetensors package writes. The
// layout is that of these tensors.
void write_safetensors(OutputFile& file, const SafetensorsLayout& layout,
                       const std::vector<WrittenTensor>& tensors);
// bytes_of returns the bytes of a tensor by its place in the list, one after the other as they lie
// in the file; what it returned last is no longer needed then.
void write_safetensors(OutputFile& file, const SafetensorsLayout& layout,
                       const std::function<Bytes(std::size_t tensor)>& bytes_of);
void write_safetensors(OutputFile& file, const std::vector<WrittenTensor>& tensors,
                       const SafetensorsMetadata& metadata = {});

}  // namespace simmesh::checkpoint
