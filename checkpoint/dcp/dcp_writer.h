#pragma once

#include <functional>
#include <memory>
#include <string>

#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// DcpWriter writes a checkpoint that torch.distributed.checkpoint of PyTorch 2.13 and 2.15 reads:
// one .distcp file, value by value, and then the .metadata file.
//
// Values are added in any order. finish comes last.
class DcpWriter {
 public:
  DcpWriter(Store& store, std::string folder);

  // add appends a value that is no tensor. Its name stands for an empty path.
  void add(const StoredObject& object);
  // add appends a tensor in the given boxes. bytes_of returns the row-major bytes of a box by its
  // place in the list. Raises a ValueError for a dtype that PyTorch doesn't have.
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
