#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh::zero {

// FileStore keeps tensors of one rank in a file, so that they take no memory while nobody uses
// them. A thread of its own reads and writes while the rank continues. The file has no name, so
// nothing is left behind, even if the process is killed.
//
//   zero::FileStore store({.folder = "/local_nvme"});
//   store.park(weight);       // starts to write; the tensor's bytes are given back
//   store.prefetch(weight);   // starts to read
//   store.fetch(weight);      // the tensor has its elements again
//
// A tensor's whole storage is parked. Operations of a tensor happen in the order of the calls. In a
// World of shapes only nothing is read or written, and bytes are charged as usual.
class FileStore {
 public:
  // Options are the folder in which the file is made, and how much may wait.
  struct Options {
    std::string folder;
    // The most reads and writes that wait for the thread; a further one blocks.
    std::int64_t buffer_count = 4;
  };

  // Bytes of all operations so far.
  struct Traffic {
    std::int64_t bytes_written = 0;
    std::int64_t bytes_read = 0;
  };

  // Raises a RuntimeError that names the folder if no file can be made there.
  explicit FileStore(const Options& options);
  ~FileStore();
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  // park starts to write a tensor and frees its storage; it does nothing to one that is parked.
  void park(const Tensor& tensor);
  // prefetch starts to read a parked tensor.
  void prefetch(const Tensor& tensor);
  // fetch waits until a parked tensor is read and restores its elements. Raises a RuntimeError if
  // reading or writing failed.
  void fetch(const Tensor& tensor);
  // discard frees the storage of a tensor that was parked once and hasn't changed since it was
  // fetched: the file has its elements.
  void discard(const Tensor& tensor);
  // is_absent is true if a tensor is in the file and nobody has started to read it.
  bool is_absent(const Tensor& tensor) const;
  // flush waits until all parked tensors are written.
  void flush();

  const Traffic& traffic() const { return traffic_; }

 private:
  struct Operation {
    StorageId id = 0;
    bool is_write = false;
    std::int64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  // The place of a storage in the file, and the bytes that were read of it.
  struct Place {
    std::int64_t offset = 0;
    bool is_read = false;  // or its read has been started
  };

  void start(Operation operation);
  void run();
  void perform(Operation& operation) const;
  void check();

  Options options_;
  int file_ = -1;
  std::int64_t end_ = 0;
  std::map<StorageId, Place> places_;
  Traffic traffic_;

  // Shared with the thread.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> queue_;
  bool is_busy_ = false, is_ending_ = false;
  std::map<StorageId, std::vector<std::byte>> read_;
  std::string fault_;
  std::thread thread_;
};

}  // namespace simmesh::zero
