#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/stored_dtype.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

// SafetensorsEntry is one tensor of a safetensors file. Its bytes are [begin, end), counted from
// the end of the header.
struct SafetensorsEntry {
  std::string name;
  StoredDType dtype = StoredDType::f32;
  Shape shape;
  std::int64_t begin = 0, end = 0;

  std::int64_t bytes() const { return end - begin; }
};

// SafetensorsHeader is the header at the begin of a safetensors file, which is JSON.
struct SafetensorsHeader {
  // The bytes of the text. The file begins with this number in eight bytes, then come the text and
  // the data.
  std::int64_t length = 0;
  std::optional<std::map<std::string, std::string>> metadata;
  std::vector<SafetensorsEntry> tensors;  // in the order of their data

  std::int64_t data_begin() const { return 8 + length; }
};

// data_bytes returns the bytes of an entry's dtype and shape. Raises a ValueError that names the
// tensor if they are too many, or if the last element ends within a byte.
std::int64_t data_bytes(const SafetensorsEntry& entry);

// The most bytes that a header may have.
inline constexpr std::int64_t safetensors_header_max = 100'000'000;

// parse_safetensors_header reads the text of a header that data_bytes bytes of data follow. Raises
// a ValueError that names the tensor for everything that the format forbids: a text that isn't a
// JSON object in UTF-8 from its first byte on; a name, field or metadata key that comes twice;
// missing fields; unknown dtypes; sizes that aren't integers or whose product overflows; offsets
// that leave a hole, overlap, or don't end with the data. It allocates no more than a multiple of
// the text.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::int64_t data_bytes);

// safetensors_header_text returns the text of a header as the safetensors package writes it:
// without white space, metadata first and sorted, padded with spaces to a multiple of eight. The
// order of tensors is kept.
std::string safetensors_header_text(const SafetensorsHeader& header);

}  // namespace simmesh::checkpoint
