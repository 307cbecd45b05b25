#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/safetensors/header.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// read_safetensors_header reads the header of a file in a store, and no data. Raises a ValueError
// that names the file if it is no safetensors file. It never allocates by a size that the file only
// claims.
SafetensorsHeader read_safetensors_header(const Store& store, const std::string& path);

// WrittenTensor is a tensor that is written. The bytes are its row-major elements.
struct WrittenTensor {
  std::string name;
  StoredDType dtype = StoredDType::f32;
  Shape shape;
  Bytes bytes;
};

using SafetensorsMetadata = std::optional<std::map<std::string, std::string>>;

// entry_of returns the entry of a tensor of a catalog, without offsets. Pairs of F4 are twice as
// many elements of F4. Other dtypes that safetensors doesn't have are there as bytes, with one more
// dim.
SafetensorsEntry entry_of(const StoredTensor& tensor);

// SafetensorsLayout is the layout of a file before it is written: its header, and for each tensor
// of the header its place in the caller's list.
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
// This one needs only names, dtypes and shapes; it ignores the offsets of the entries.
SafetensorsLayout lay_out_safetensors(const std::vector<SafetensorsEntry>& entries,
                                      const SafetensorsMetadata& metadata = {});

// safetensors_header_bytes returns the bytes before the data: the length of the header's text, and
// the text.
std::vector<std::byte> safetensors_header_bytes(const SafetensorsLayout& layout);

// write_safetensors appends a whole file, with the bytes that the safetensors package writes. The
// layout must be that of the tensors.
void write_safetensors(OutputFile& file, const SafetensorsLayout& layout,
                       const std::vector<WrittenTensor>& tensors);
// This one calls bytes_of for the bytes of each tensor, by its place in the list, in the order of
// the file. The bytes are needed until the next call.
void write_safetensors(OutputFile& file, const SafetensorsLayout& layout,
                       const std::function<Bytes(std::size_t tensor)>& bytes_of);
void write_safetensors(OutputFile& file, const std::vector<WrittenTensor>& tensors,
                       const SafetensorsMetadata& metadata = {});

}  // namespace simmesh::checkpoint
