#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simmesh::checkpoint {

using Bytes = gsl::span<const std::byte>;
using MutableBytes = gsl::span<std::byte>;

// What is hashed or passed on while it is read or written is so in pieces of at most so many bytes,
// which stay in a core's cache meanwhile.
inline constexpr std::size_t cached_bytes = 256 << 10;

// InputFile is a file that is being read. Destroying it closes the file.
class InputFile {
 public:
  virtual ~InputFile() = default;
  // read fills `out` with the bytes from `begin` on; raises where the file is shorter.
  virtual void read(std::int64_t begin, MutableBytes out) const = 0;
};

// OutputFile is a file that is being written. Destroying it closes the file; what was not synced
// may be lost if the machine stops.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  // append writes bytes behind those that are there. A write that fails may have written some.
  virtual void append(Bytes bytes) = 0;
  // sync waits until the bytes would survive that the machine stops.
  virtual void sync() = 0;
};

// StoreLock is held by one writer of a store; it is let go when it is destroyed, or when the
// process ends.
class StoreLock {
 public:
  virtual ~StoreLock() = default;
};

// Store is where checkpoints lie: files by path, with '/' between folders. It is a seam, so that a
// test can keep them in memory and let any operation fail: see MemoryStore, DirectoryStore and
// FaultyStore. Any number of ranks may use one store; it raises a RuntimeError that names store and
// path where an operation fails.
//
// What is written survives that the machine stops once the file and the folder are synced.
class Store {
 public:
  virtual ~Store() = default;

  // name says which store it is, for messages: a folder's path, or "memory".
  virtual std::string name() const = 0;

  // files returns the paths of all files below a folder, ascending, relative to the folder; none
  // where it doesn't exist. The empty path is the store's root. folders returns the names of the
  // folders right below one.
  virtual std::vector<std::string> files(const std::string& folder) const = 0;
  virtual std::vector<std::string> folders(const std::string& folder) const = 0;
  // size returns the bytes of a file, nullopt where there is none.
  virtual std::optional<std::int64_t> size(const std::string& path) const = 0;
  // read fills `out` with the bytes from `begin` on; raises where the file is shorter.
  virtual void read(const std::string& path, std::int64_t begin, MutableBytes out) const = 0;

  // open returns a file that is read in several pieces; the store lives longer. By default each
  // piece is a read of the store, which may be when a file that can't be opened raises.
  virtual std::unique_ptr<InputFile> open(const std::string& path) const;

  // create makes a file, and the folders above it; raises where it exists already.
  virtual std::unique_ptr<OutputFile> create(const std::string& path) = 0;
  // lock keeps other writers out; raises a RuntimeError where one has it.
  virtual std::unique_ptr<StoreLock> lock() = 0;
  // sync_folder makes the names in a folder survive that the machine stops.
  virtual void sync_folder(const std::string& folder) = 0;
  // rename moves a file, replacing one of the new name, or a folder to a name that isn't taken: at
  // once, so that nobody sees a part of it.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // remove removes a file, or a folder with all that is in it; nothing where there is neither.
  virtual void remove(const std::string& path) = 0;
};

// read_file returns a whole file. Raises a RuntimeError where there is none, or where it has more
// than bytes_max bytes.
std::vector<std::byte> read_file(const Store& store, const std::string& path,
                                 std::int64_t bytes_max);

// read_text returns a whole file as text; raises as read_file does. write_synced makes a file of a
// text, and syncs it.
std::string read_text(const Store& store, const std::string& path, std::int64_t bytes_max);
void write_synced(Store& store, const std::string& path, std::string_view text);

// joined returns a path below a folder; the empty folder is the root.
std::string joined(const std::string& folder, const std::string& path);

}  // namespace simmesh::checkpoint
