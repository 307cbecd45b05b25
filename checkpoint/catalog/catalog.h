#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/catalog/box.h"
#include "checkpoint/catalog/stored_dtype.h"
#include "checkpoint/catalog/stored_object.h"

namespace simmesh::checkpoint {

// StoredChunk is a box of a tensor and where its bytes lie.
struct StoredChunk {
  // How the bytes of a chunk lie in its file.
  enum class Encoding : std::uint8_t {
    raw,            // the elements, row-major
    torch_archive,  // what torch.save writes for one tensor
  };

  Box box;
  std::string file;  // relative to the checkpoint's folder
  std::int64_t begin = 0, bytes = 0;
  Encoding encoding = Encoding::raw;
  // bits_hash of the bytes, where the checkpoint has one: what is read is compared with it.
  std::optional<std::uint64_t> hash = {};
};

// StoredTensor is a tensor as a checkpoint holds it: in boxes that don't overlap and leave nothing
// out.
struct StoredTensor {
  std::string name;
  StoredDType dtype = StoredDType::f32;
  Shape shape;
  std::vector<StoredChunk> chunks;

  std::int64_t bytes() const;
};

// Catalog is what a checkpoint holds and where, whatever its format. Names are unique.
struct Catalog {
  std::string format;  // "safetensors", "dcp", "simmesh", ...
  std::vector<StoredTensor> tensors;
  std::vector<StoredObject> objects;
  // Where values stood in a nested dict that was flattened, by name; empty where nobody says.
  std::vector<std::pair<std::string, std::vector<JsonValue>>> paths = {};

  const StoredTensor* find(std::string_view name) const;
  const StoredObject* find_object(std::string_view name) const;
};

// check_catalog raises a ValueError that names the tensor where a chunk lies outside of its tensor,
// where two chunks overlap, or where chunks leave something out; and for a name that comes twice.
void check_catalog(const Catalog& catalog);

// check_chunks does so for one tensor. Its time grows with n log n of the chunks where they form a
// grid.
void check_chunks(const StoredTensor& tensor);

}  // namespace simmesh::checkpoint
