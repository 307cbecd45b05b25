#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/store/store.h"
#include "checkpoint/torch_file/pickle.h"
#include "checkpoint/torch_file/torch_view.h"
#include "checkpoint/torch_file/zip_directory.h"

namespace simmesh::checkpoint {

// TorchFile is a file of any size that torch.save wrote. Only its pickle is read; tensors are
// places in the file.
//
//   checkpoint::Location run = checkpoint::Directory("run/step_10");
//   checkpoint::TorchFile file(*run.store, "step_10/weights.pt");
//   checkpoint::TorchFile::Place place = file.place(checkpoint::field(file.root(), "weight"));
class TorchFile {
 public:
  // Place is the place in the file of the row-major elements of a tensor.
  struct Place {
    StoredDType dtype = StoredDType::f32;
    Shape shape;
    std::int64_t begin = 0;

    std::int64_t bytes() const { return numel(shape) * bits_per_element(dtype) / 8; }
  };

  // Raises a ValueError that names the file if torch.save doesn't write such a file.
  TorchFile(const Store& store, std::string path);

  const std::string& path() const { return path_; }
  PickleValue root() const { return pickle_->root(); }

  // place returns the place of a tensor. Raises a ValueError for a value that is no tensor, for a
  // tensor that isn't contiguous, and for one whose size doesn't fit the file.
  Place place(PickleValue tensor) const;
  // read returns the bytes of a place.
  std::vector<std::byte> read(const Place& place) const;

 private:
  const Store& store_;
  std::string path_;
  std::map<std::string, ZipPlace> members_;  // by the part of the name after the first '/'
  std::unique_ptr<Pickle> pickle_;
};

}  // namespace simmesh::checkpoint
