#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// The metadata file of a checkpoint of torch.distributed.checkpoint.
inline constexpr const char* dcp_metadata_file = ".metadata";

// DcpMetadata is the content of that file. Objects have a place, and no value yet. A tensor of a
// dtype that isn't read is an object, with the dtype and the shape.
struct DcpMetadata {
  struct Object {
    std::string name;
    std::string file;
    std::int64_t begin = 0, bytes = 0;
    std::vector<JsonValue> path = {};
    std::string unread_tensor = {};  // "torch.qint8[2, 3]"
  };

  std::vector<StoredTensor> tensors;  // in the order of the file
  std::vector<Object> objects;
  // The place of each value in the nested dict that was flattened, by name.
  std::vector<std::pair<std::string, std::vector<JsonValue>>> paths;
  std::string version;  // "1.0.0"
};

// read_dcp_metadata reads the pickle that PyTorch 2.13 and 2.15 write. Raises a ValueError for
// anything else, and for a tensor whose chunks overlap, don't cover it, or have no place.
DcpMetadata read_dcp_metadata(Bytes bytes);

// dcp_metadata_pickle returns a pickle that PyTorch 2.13 and 2.15 read. Raises a ValueError for a
// dtype that PyTorch doesn't have.
std::vector<std::byte> dcp_metadata_pickle(const DcpMetadata& metadata);

}  // namespace simmesh::checkpoint
