#pragma once

#include <functional>
#include <memory>
#include <string>

#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// DcpWriter writes a checkpoint that PyTorch's torch.distributed.checkpoint reads, 2.13 and 2.15:
// one .distcp file, value by value, and at the end the .metadata file.
//
// Values are added in any order; finish comes last.
class DcpWriter {
 public:
  DcpWriter(Store& store, std::string folder);

  // add appends a value that is no tensor. Without a path its name is the path.
  void add(const StoredObject& object);
  // add appends a tensor in the given boxes; bytes_of returns the row-major bytes of one by its
  // place in the list. Raises a ValueError for a dtype that PyTorch's archives don't have.
  using BytesOf = std::function<std::vector<std::byte>(std::size_t box)>;
  void add(const StoredTensor& tensor, const std::vector<Box>& boxes, const BytesOf& bytes_of);
  // finish syncs the file, and writes and syncs the metadata.
  void finish();

 private:
  void append(const std::vector<std::byte>& archive);

  Store& store_;
  std::string folder_;
  std::unique_ptr<OutputFile> file_;
  std::int64_t at_ = 0;
  DcpMetadata metadata_;
};

}  // namespace simmesh::checkpoint
