#include "zero/stage3/file_store.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/check/error.h"
#include "core/check/start_threads.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view store_source = "zero/file_store";

// Opens a file without a name in a folder.
int open_file(const std::string& folder) {
  std::string path = folder + "/simmesh_zero_XXXXXX";
  int file = mkstemp(path.data());
  if (file < 0)
    raise(ErrorKind::runtime_error, store_source,
          "expected a folder for offloaded state in which files can be made, got {}: {}", folder,
          std::strerror(errno));
  unlink(path.c_str());
  return file;
}

}  // namespace

FileStore::FileStore(const Options& options) : options_(options), file_(open_file(options.folder)) {
  try {
    thread_ = start_thread(store_source, [this] { run(); });
  } catch (...) {
    close(file_);
    throw;
  }
}

FileStore::~FileStore() {
  {
    std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  close(file_);
}

void FileStore::park(const Tensor& tensor) {
  const StoragePtr& storage = tensor.storage();
  if (storage->is_freed()) return;
  auto [found, is_new] = places_.try_emplace(storage->id(), Place{.offset = end_});
  auto bytes = std::int64_t(storage->bytes());
  if (is_new) end_ += bytes;
  found->second.is_read = false;
  traffic_.bytes_written += bytes;
  if (tensor.has_elements())
    start({.id = storage->id(),
           .is_write = true,
           .offset = found->second.offset,
           .bytes = {storage->data(), storage->data() + bytes}});
  storage->free();
}

void FileStore::prefetch(const Tensor& tensor) {
  const StoragePtr& storage = tensor.storage();
  auto found = places_.find(storage->id());
  if (found == places_.end() || !storage->is_freed() || found->second.is_read) return;
  found->second.is_read = true;
  traffic_.bytes_read += std::int64_t(storage->bytes());
  if (tensor.has_elements())
    start({.id = storage->id(),
           .offset = found->second.offset,
           .bytes = std::vector<std::byte>(storage->bytes())});
}

void FileStore::fetch(const Tensor& tensor) {
  const StoragePtr& storage = tensor.storage();
  if (!storage->is_freed()) return;
  prefetch(tensor);
  std::vector<std::byte> bytes;
  if (tensor.has_elements()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return read_.count(storage->id()) > 0 || !fault_.empty(); });
    check();
    bytes = std::move(read_.extract(storage->id()).mapped());
  }
  storage->restore();
  if (!bytes.empty()) std::memcpy(storage->mutable_data(), bytes.data(), bytes.size());
}

void FileStore::discard(const Tensor& tensor) {
  auto found = places_.find(tensor.storage()->id());
  if (found == places_.end() || tensor.storage()->is_freed()) return;
  found->second.is_read = false;
  tensor.storage()->free();
}

bool FileStore::is_absent(const Tensor& tensor) const {
  auto found = places_.find(tensor.storage()->id());
  return found != places_.end() && tensor.storage()->is_freed() && !found->second.is_read;
}

void FileStore::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return (queue_.empty() && !is_busy_) || !fault_.empty(); });
  check();
}

void FileStore::start(Operation operation) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::int64_t(queue_.size()) < std::max<std::int64_t>(options_.buffer_count, 1) ||
           !fault_.empty();
  });
  check();
  queue_.push_back(std::move(operation));
  changed_.notify_all();
}

void FileStore::check() {
  if (!fault_.empty()) raise(ErrorKind::runtime_error, store_source, "{}", fault_);
}

// Ends when the whole queue is done.
void FileStore::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !queue_.empty() || is_ending_; });
    if (queue_.empty()) return;
    Operation operation = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    lock.unlock();
    changed_.notify_all();
    std::string fault;
    try {
      perform(operation);
    } catch (const Error& error) {
      fault = error.message();
    }
    lock.lock();
    is_busy_ = false;
    if (!fault.empty()) fault_ = fault;
    if (!operation.is_write) read_[operation.id] = std::move(operation.bytes);
    changed_.notify_all();
  }
}

void FileStore::perform(Operation& operation) const {
  std::size_t done = 0;
  while (done < operation.bytes.size()) {
    std::byte* at = operation.bytes.data() + done;
    std::size_t left = operation.bytes.size() - done;
    auto offset = off_t(operation.offset + std::int64_t(done));
    ssize_t count =
        operation.is_write ? pwrite(file_, at, left, offset) : pread(file_, at, left, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      raise(ErrorKind::runtime_error, store_source, "{}: expected to {} {} bytes, got {}",
            options_.folder, operation.is_write ? "write" : "read", left,
            count < 0 ? std::strerror(errno) : "the end of the file");
    done += std::size_t(count);
  }
}

}  // namespace simmesh::zero
