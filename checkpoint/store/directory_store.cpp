#include "checkpoint/store/directory_store.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/check/error.h"
#include "core/check/scarcity.h"

namespace simmesh::checkpoint {

namespace {

namespace fs = std::filesystem;

constexpr const char* lock_file = ".lock";

[[noreturn]] void fail_in_folder(const std::string& what, const std::string& place,
                                 const std::string& why) {
  raise(ErrorKind::runtime_error, "checkpoint/store", "cannot {} {}: {}", what, place, why);
}
// The reason is that of the system, an errno.
[[noreturn]] void fail_in_folder(const std::string& what, const std::string& place, int reason) {
  raise_refused(reason, ErrorKind::runtime_error, "checkpoint/store", "cannot {} {}", what, place);
}
[[noreturn]] void fail_in_folder(const std::string& what, const std::string& place) {
  fail_in_folder(what, place, errno);
}

// FileHandle closes its file in its destructor.
class FileHandle {
 public:
  FileHandle(const std::string& place, int flags) : handle_(::open(place.c_str(), flags, 0666)) {}
  FileHandle(FileHandle&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  FileHandle& operator=(FileHandle&&) = delete;
  ~FileHandle() {
    if (handle_ >= 0) ::close(handle_);
  }
  bool is_open() const { return handle_ >= 0; }
  int get() const { return handle_; }

 private:
  int handle_;
};

// DirectoryLock holds the lock as long as its file is open: the system frees it with the last
// handle.
class DirectoryLock final : public StoreLock {
 public:
  explicit DirectoryLock(FileHandle file) : file_(std::move(file)) {}

 private:
  FileHandle file_;
};

class DirectoryInput final : public InputFile {
 public:
  explicit DirectoryInput(std::string place)
      : place_(std::move(place)), file_(place_, O_RDONLY | O_CLOEXEC) {
    if (!file_.is_open()) fail_in_folder("open", place_);
  }

  void read(std::int64_t begin, MutableBytes out) const override {
    while (!out.empty()) {
      ssize_t count = ::pread(file_.get(), out.data(), out.size(), begin);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_in_folder("read", place_);
      if (count == 0) fail_in_folder("read", place_, "the file ends too early");
      out = out.subspan(std::size_t(count));
      begin += count;
    }
  }

 private:
  std::string place_;
  FileHandle file_;
};

class DirectoryOutput final : public OutputFile {
 public:
  DirectoryOutput(FileHandle file, std::string place)
      : file_(std::move(file)), place_(std::move(place)) {}

  void append(Bytes bytes) override {
    while (!bytes.empty()) {
      ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail_in_folder("write", place_);
      bytes = bytes.subspan(std::size_t(written));
      written_ += written;
    }
    if (written_ - started_ >= started_bytes) start_to_disk();
  }
  void sync() override {
    if (::fsync(file_.get()) != 0) fail_in_folder("sync", place_);
  }

 private:
  // Lets the disk start while more is written. Errors appear in sync.
  void start_to_disk() {
#ifdef SYNC_FILE_RANGE_WRITE
    ::sync_file_range(file_.get(), started_, written_ - started_, SYNC_FILE_RANGE_WRITE);
#endif
    started_ = written_;
  }

  static constexpr std::int64_t started_bytes = 16 << 20;

  FileHandle file_;
  std::string place_;
  std::int64_t written_ = 0, started_ = 0;  // bytes in the file, and sent to the disk
};

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string DirectoryStore::place(const std::string& path) const {
  fs::path relative(path);
  bool leaves =
      relative.is_absolute() || std::any_of(relative.begin(), relative.end(),
                                            [](const fs::path& part) { return part == ".."; });
  if (leaves)
    raise(ErrorKind::value_error, "checkpoint/store", "the path '{}' leads out of {}", path, root_);
  return path.empty() ? root_ : (fs::path(root_) / relative).string();
}

std::vector<std::string> DirectoryStore::files(const std::string& folder) const {
  std::string top = place(folder);
  std::vector<std::string> found;
  std::error_code error;
  if (!fs::is_directory(top, error)) return found;
  fs::recursive_directory_iterator entry(top, error), end;
  for (; !error && entry != end; entry.increment(error))
    if (!entry->is_directory(error))
      found.push_back(fs::path(entry->path()).lexically_relative(top).string());
  if (error) fail_in_folder("list", top, error.value());
  return sorted(std::move(found));
}

std::vector<std::string> DirectoryStore::folders(const std::string& folder) const {
  std::string top = place(folder);
  std::vector<std::string> found;
  std::error_code error;
  if (!fs::is_directory(top, error)) return found;
  fs::directory_iterator entry(top, error), end;
  for (; !error && entry != end; entry.increment(error))
    if (entry->is_directory(error)) found.push_back(entry->path().filename().string());
  if (error) fail_in_folder("list", top, error.value());
  return sorted(std::move(found));
}

std::optional<std::int64_t> DirectoryStore::size(const std::string& path) const {
  struct stat status = {};
  if (::stat(place(path).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status.st_size;
}

void DirectoryStore::read(const std::string& path, std::int64_t begin, MutableBytes out) const {
  DirectoryInput(place(path)).read(begin, out);
}

std::unique_ptr<InputFile> DirectoryStore::open(const std::string& path) const {
  return std::make_unique<DirectoryInput>(place(path));
}

std::unique_ptr<OutputFile> DirectoryStore::create(const std::string& path) {
  std::string target = place(path);
  std::error_code error;
  fs::create_directories(fs::path(target).parent_path(), error);
  if (error) fail_in_folder("make the folder of", target, error.value());
  FileHandle file(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
  if (!file.is_open()) fail_in_folder("create", target);
  return std::make_unique<DirectoryOutput>(std::move(file), target);
}

std::unique_ptr<StoreLock> DirectoryStore::lock() {
  std::string path = place(lock_file);
  std::error_code error;
  fs::create_directories(root_, error);
  if (error) fail_in_folder("make the folder", root_, error.value());
  FileHandle file(path, O_RDWR | O_CREAT | O_CLOEXEC);
  if (!file.is_open()) fail_in_folder("open", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    fail_in_folder("lock", path, "another save is under way");
  return std::make_unique<DirectoryLock>(std::move(file));
}

void DirectoryStore::sync_folder(const std::string& folder) {
  FileHandle opened(place(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!opened.is_open() || ::fsync(opened.get()) != 0) fail_in_folder("sync", place(folder));
}

void DirectoryStore::rename(const std::string& from, const std::string& to) {
  // rename(2) would replace an empty folder.
  if (std::error_code error; fs::is_directory(place(to), error))
    fail_in_folder("rename", place(from), "the folder " + place(to) + " exists");
  if (::rename(place(from).c_str(), place(to).c_str()) != 0) fail_in_folder("rename", place(from));
}

void DirectoryStore::remove(const std::string& path) {
  std::error_code error;
  fs::remove_all(place(path), error);
  if (error) fail_in_folder("remove", place(path), error.value());
}

}  // namespace simmesh::checkpoint
