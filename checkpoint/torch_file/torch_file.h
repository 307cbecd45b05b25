#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"
#include "checkpoint/torch_file/pickle.h"
#include "checkpoint/torch_file/torch_view.h"
#include "checkpoint/torch_file/zip_directory.h"

namespace simmesh::checkpoint {

// TorchFile is a file of any size that torch.save wrote, in either of its forms. Only its pickle is
// read; tensors are places in the file.
//
//   checkpoint::Location run = checkpoint::Directory("run/step_10");
//   checkpoint::TorchFile file(*run.store, "step_10/weights.pt");
//   checkpoint::TorchFile::Place place = file.place(checkpoint::field(file.root(), "weight"));
class TorchFile {
 public:
  // Place is the place in the file of the elements of a tensor.
  struct Place {
    StoredDType dtype = StoredDType::f32;
    Shape shape;
    std::int64_t begin = 0, bytes = 0;
    std::optional<Strides> strides = {};  // of elements that aren't row-major

    // chunk returns the place as the only chunk of the tensor. `file` is the file's name in the
    // catalog.
    StoredChunk chunk(const std::string& file) const;
  };

  // Raises a ValueError that names the file if torch.save doesn't write such a file.
  TorchFile(const Store& store, std::string path);

  const std::string& path() const { return path_; }
  // name returns the path with that of the store, as errors begin with it.
  std::string name() const { return joined(store_.name(), path_); }
  PickleValue root() const { return pickle_->root(); }
  // value_count returns the number of values in the pickle.
  std::size_t value_count() const { return pickle_->values().size(); }

  // place returns the place of a tensor. Raises a ValueError for a value that is no tensor, and for
  // a tensor whose size doesn't fit the file.
  Place place(PickleValue tensor) const;
  // row_major_place returns the place of a tensor, and raises a ValueError too if its elements
  // aren't row-major.
  Place row_major_place(PickleValue tensor) const;
  // read returns the bytes of a place.
  std::vector<std::byte> read(const Place& place) const;

 private:
  void read_archive();

  const Store& store_;
  std::string path_;
  std::map<std::string, ZipPlace> members_;  // by the part of the name after the first '/'
  std::unique_ptr<Pickle> pickle_;
};

// is_torch_file is true if a file begins as torch.save writes it: as an archive, or in the form
// before PyTorch 1.6.
bool is_torch_file(const Store& store, const std::string& path);

// torch_file_problems reads every byte of a file, and returns a sentence for each member of its
// archive that isn't what was written. The older form has no checksums.
std::vector<std::string> torch_file_problems(const Store& store, const std::string& path);

}  // namespace simmesh::checkpoint
