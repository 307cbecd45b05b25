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

// StoredChunk is a box of a tensor and where its bytes lie: the row-major elements, or the form of
// them that the format decodes.
struct StoredChunk {
  Box box;
  std::string file;  // relative to the checkpoint's folder
  std::int64_t begin = 0, bytes = 0;
  // bits_hash of the bytes, if the checkpoint has one. Bytes that are read are compared with it.
  std::optional<std::uint64_t> hash = {};
  // The steps between elements of the box in the file, in elements, if these aren't row-major. The
  // bytes are then all from the first element to the last one.
  std::optional<Strides> strides = {};
};

// StoredTensor is a tensor of a checkpoint, in chunks whose boxes don't overlap and cover it.
struct StoredTensor {
  std::string name;
  StoredDType dtype = StoredDType::f32;
  Shape shape;
  std::vector<StoredChunk> chunks;

  std::int64_t bytes() const;
};

// Catalog lists the tensors and other values of a checkpoint of any format, and their places. Names
// are unique.
struct Catalog {
  std::string format;  // its name (checkpoint/format/formats.h); empty until `open` knows it
  std::vector<StoredTensor> tensors;
  std::vector<StoredObject> objects;
  // The place of each value in the nested dict that was flattened, by name; empty if the format
  // has none.
  std::vector<std::pair<std::string, std::vector<JsonValue>>> paths = {};

  const StoredTensor* find(std::string_view name) const;
  const StoredObject* find_object(std::string_view name) const;
};

// check_catalog raises a ValueError for a name that comes twice, and for a tensor whose chunks are
// outside of it, overlap, or don't cover it. The text names the tensor.
void check_catalog(const Catalog& catalog);

// check_chunks checks the chunks of one tensor. It takes n log n time for n chunks that form a
// grid.
void check_chunks(const StoredTensor& tensor);

}  // namespace simmesh::checkpoint
