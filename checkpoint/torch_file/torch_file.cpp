#include "checkpoint/torch_file/torch_file.h"

#include <fmt/format.h>

#include "checkpoint/torch_file/legacy_torch_file.h"
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
    if (!is_legacy_torch_file(store_, path_)) return read_archive();
    LegacyTorchFile file = read_legacy_torch_file(store_, path_);
    members_ = std::move(file.storages);
    pickle_ = std::make_unique<Pickle>(std::move(file.value));
  });
}

void TorchFile::read_archive() {
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
}

TorchFile::Place TorchFile::place(PickleValue tensor) const {
  return in_file(store_, path_, [&] {
    TorchView view = read_torch_view(tensor);
    auto found = members_.find("data/" + view.storage);
    if (found == members_.end())
      raise(ErrorKind::value_error, "checkpoint/torch_file",
            "an archive without the member data/{}", view.storage);
    check_torch_storage(view, found->second.bytes);
    std::int64_t width = bits_per_element(view.dtype) / 8, elements = numel(view.shape);
    Place place = {view.dtype, view.shape, found->second.begin, 0, {}};
    if (elements == 0) return place;
    place.begin += view.offset * width;
    if (!view.is_contiguous()) {
      place.strides = view.strides;
      elements = 1;
      for (std::size_t dim = 0; dim < view.shape.size(); ++dim)
        elements += (view.shape[dim] - 1) * view.strides[dim];
    }
    place.bytes = elements * width;
    return place;
  });
}

TorchFile::Place TorchFile::row_major_place(PickleValue tensor) const {
  Place found = place(tensor);
  if (found.strides)
    raise(ErrorKind::value_error, "checkpoint/torch_file",
          "{}: expected a tensor of contiguous elements, got the strides {} of the shape {}",
          joined(store_.name(), path_), to_string(*found.strides), to_string(found.shape));
  return found;
}

StoredChunk TorchFile::Place::chunk(const std::string& file) const {
  return {.box = whole(shape), .file = file, .begin = begin, .bytes = bytes, .strides = strides};
}

std::vector<std::byte> TorchFile::read(const Place& place) const {
  std::vector<std::byte> bytes(std::size_t(place.bytes));
  store_.read(path_, place.begin, bytes);
  return bytes;
}

bool is_torch_file(const Store& store, const std::string& path) {
  if (is_legacy_torch_file(store, path)) return true;
  constexpr std::string_view archive_mark = "PK\3\4";
  std::vector<std::byte> bytes(archive_mark.size());
  if (store.size(path).value_or(0) < std::int64_t(bytes.size())) return false;
  store.read(path, 0, bytes);
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) ==
         archive_mark;
}

std::vector<std::string> torch_file_problems(const Store& store, const std::string& path) {
  std::vector<std::string> problems;
  if (is_legacy_torch_file(store, path)) return problems;
  for (const ZipPlace& member : read_zip_directory(store, path))
    if (!is_zip_member_whole(store, path, member))
      problems.push_back(fmt::format("{}, bytes [{}, {}): the member {} is corrupt",
                                     joined(store.name(), path), member.begin,
                                     member.begin + member.bytes, member.name));
  return problems;
}

}  // namespace simmesh::checkpoint
