#include "checkpoint/torch_file/torch_file.h"

#include <fmt/format.h>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// Calls `read`, and raises its errors with the name of the file in front.
template <class Read>
auto in_file(const Store& store, const std::string& path, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.kind(), "checkpoint/torch_file",
                fmt::format("{}: {}", joined(store.name(), path), error.message()));
  }
}

}  // namespace

TorchFile::TorchFile(const Store& store, std::string path) : store_(store), path_(std::move(path)) {
  in_file(store_, path_, [&] {
    for (ZipPlace& member : read_zip_directory(store_, path_)) {
      std::string name = member.name.substr(member.name.find('/') + 1);
      if (!members_.emplace(std::move(name), std::move(member)).second)
        raise(ErrorKind::value_error, "checkpoint/torch_file", "a member comes twice");
    }
    auto bytes_of = [&](const std::string& name) {
      auto found = members_.find(name);
      if (found == members_.end())
        raise(ErrorKind::value_error, "checkpoint/torch_file", "an archive without the member {}",
              name);
      std::vector<std::byte> bytes(std::size_t(found->second.bytes));
      store_.read(path_, found->second.begin, bytes);
      if (crc32(bytes) != found->second.checksum)
        raise(ErrorKind::value_error, "checkpoint/torch_file",
              "the member {} is corrupt: its checksum differs from the saved one", name);
      return bytes;
    };
    if (members_.contains("byteorder")) {
      std::vector<std::byte> order = bytes_of("byteorder");
      if (std::string_view(reinterpret_cast<const char*>(order.data()), order.size()) != "little")
        raise(ErrorKind::value_error, "checkpoint/torch_file", "expected the byte order little");
    }
    pickle_ = std::make_unique<Pickle>(bytes_of("data.pkl"));
  });
}

TorchFile::Place TorchFile::place(PickleValue tensor) const {
  return in_file(store_, path_, [&] {
    TorchView view = read_torch_view(tensor);
    auto found = members_.find("data/" + view.storage);
    if (found == members_.end())
      raise(ErrorKind::value_error, "checkpoint/torch_file",
            "an archive without the member data/{}", view.storage);
    check_torch_storage(view, found->second.bytes);
    if (!view.is_contiguous())
      raise(ErrorKind::value_error, "checkpoint/torch_file",
            "expected a tensor of contiguous elements, got the strides {} of the "
            "shape {}",
            to_string(view.strides), to_string(view.shape));
    std::int64_t width = bits_per_element(view.dtype) / 8;
    return Place{view.dtype, view.shape, found->second.begin + view.offset * width};
  });
}

std::vector<std::byte> TorchFile::read(const Place& place) const {
  std::vector<std::byte> bytes(std::size_t(place.bytes()));
  store_.read(path_, place.begin, bytes);
  return bytes;
}

}  // namespace simmesh::checkpoint
