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

// TorchFile is a file that torch.save wrote, of any size: just its pickle is read, and tensors are
// places in the file.
//
//   checkpoint::Location run = checkpoint::Directory("run/step_10");
//   checkpoint::PickleDialect dialect = {"\x80}X(us.", checkpoint::torch_view_globals()};
//   checkpoint::TorchFile file(*run.store, "step_10/weights.pt", dialect);
//   checkpoint::TorchFile::Place place = file.place(checkpoint::field(file.root(), "weight"));
class TorchFile {
 public:
  // Place is where the elements of a tensor lie in the file, row-major.
  struct Place {
    StoredDType dtype = StoredDType::f32;
    Shape shape;
    std::int64_t begin = 0;

    std::int64_t bytes() const { return numel(shape) * bits_per_element(dtype) / 8; }
  };

  // Raises a ValueError that names the file for one that torch.save doesn't write, and for a pickle
  // with anything that the dialect doesn't have.
  TorchFile(const Store& store, std::string path, const PickleDialect& dialect);

  const std::string& path() const { return path_; }
  PickleValue root() const { return pickle_->root(); }

  // place raises a ValueError for a value that is no tensor, whose elements don't lie one behind
  // the other, or that has other bytes than the file.
  Place place(PickleValue tensor) const;
  // read returns the bytes of a place.
  std::vector<std::byte> read(const Place& place) const;

 private:
  const Store& store_;
  std::string path_;
  std::map<std::string, ZipPlace> members_;  // by the part of the name behind the first '/'
  std::unique_ptr<Pickle> pickle_;
};

}  // namespace simmesh::checkpoint
