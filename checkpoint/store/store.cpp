#include "checkpoint/store/store.h"

#include <utility>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

class FileOfStore final : public InputFile {
 public:
  FileOfStore(const Store& store, std::string path) : store_(store), path_(std::move(path)) {}

  void read(std::int64_t begin, MutableBytes out) const override { store_.read(path_, begin, out); }

 private:
  const Store& store_;
  std::string path_;
};

}  // namespace

std::unique_ptr<InputFile> Store::open(const std::string& path) const {
  return std::make_unique<FileOfStore>(*this, path);
}

std::vector<std::byte> read_file(const Store& store, const std::string& path,
                                 std::int64_t bytes_max) {
  std::optional<std::int64_t> size = store.size(path);
  if (!size)
    raise(ErrorKind::runtime_error, "checkpoint/store", "{}: no file {}", store.name(), path);
  if (*size > bytes_max)
    raise(ErrorKind::runtime_error, "checkpoint/store", "{}: {} has {} bytes, expected at most {}",
          store.name(), path, *size, bytes_max);
  std::vector<std::byte> bytes(static_cast<std::size_t>(*size));
  store.read(path, 0, bytes);
  return bytes;
}

std::string read_text(const Store& store, const std::string& path, std::int64_t bytes_max) {
  std::vector<std::byte> bytes = read_file(store, path, bytes_max);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_synced(Store& store, const std::string& path, std::string_view text) {
  auto file = store.create(path);
  file->append(gsl::as_bytes(gsl::span<const char>(text.data(), text.size())));
  file->sync();
}

std::string joined(const std::string& folder, const std::string& path) {
  if (folder.empty()) return path;
  if (path.empty()) return folder;
  return folder.ends_with('/') ? folder + path : folder + "/" + path;
}

}  // namespace simmesh::checkpoint
