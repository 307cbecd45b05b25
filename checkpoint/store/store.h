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

// Bytes that are hashed or passed on while they are read or written are taken in pieces of at most
// this size, which a core's cache holds.
inline constexpr std::size_t cached_bytes = 256 << 10;

// InputFile is a file that is being read. Its destructor closes the file.
class InputFile {
 public:
  virtual ~InputFile() = default;
  // read fills `out` with the bytes from `begin` on. Raises if the file is shorter.
  virtual void read(std::int64_t begin, MutableBytes out) const = 0;
};

// OutputFile is a file that is being written. Its destructor closes the file. Bytes that are not
// synced may be lost if the machine stops.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  // append writes bytes at the end of the file. A write that fails may have written some of them.
  virtual void append(Bytes bytes) = 0;
  // sync waits until the bytes survive a stop of the machine.
  virtual void sync() = 0;
};

// StoreLock is held by one writer of a store. It ends with the object, or with the process.
class StoreLock {
 public:
  virtual ~StoreLock() = default;
};

// Store holds the files of checkpoints by path, with '/' between folders. It is a virtual seam
// because tests keep files in memory and let any operation fail: see MemoryStore, DirectoryStore
// and FaultyStore. Any number of ranks may use one store. An operation that fails raises a
// RuntimeError that names store and path.
//
// A file survives a stop of the machine once the file and its folder are synced.
class Store {
 public:
  virtual ~Store() = default;

  // name returns the store's name for messages: a folder's path, or "memory".
  virtual std::string name() const = 0;
  // is_shared is true if all processes over which a world is spread see the same files. Then the
  // owner of a rank writes what the rank writes. Otherwise each process writes it.
  virtual bool is_shared() const { return false; }

  // files returns the paths of all files below a folder, ascending, relative to the folder; none if
  // there is no such folder. The empty path is the store's root. folders returns the names of the
  // folders directly in a folder.
  virtual std::vector<std::string> files(const std::string& folder) const = 0;
  virtual std::vector<std::string> folders(const std::string& folder) const = 0;
  // size returns the bytes of a file, nullopt if there is none.
  virtual std::optional<std::int64_t> size(const std::string& path) const = 0;
  // read fills `out` with the bytes from `begin` on. Raises if the file is shorter.
  virtual void read(const std::string& path, std::int64_t begin, MutableBytes out) const = 0;

  // open returns a file that is read in several pieces. The store must outlive it. By default each
  // piece is a read of the store, so a file that can't be opened may raise only then.
  virtual std::unique_ptr<InputFile> open(const std::string& path) const;

  // create makes a file, and the folders above it. Raises if the file exists.
  virtual std::unique_ptr<OutputFile> create(const std::string& path) = 0;
  // lock keeps other writers out. Raises a RuntimeError if another writer has the lock.
  virtual std::unique_ptr<StoreLock> lock() = 0;
  // sync_folder waits until the names in a folder survive a stop of the machine.
  virtual void sync_folder(const std::string& folder) = 0;
  // rename moves a file, and replaces a file of the new name; or it moves a folder to a name that
  // isn't taken. It happens at once: nobody sees a part of it.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // remove removes a file, or a folder with everything in it, if there is one.
  virtual void remove(const std::string& path) = 0;
};

// read_file returns a whole file. Raises a RuntimeError if there is none, or if it has more than
// bytes_max bytes.
std::vector<std::byte> read_file(const Store& store, const std::string& path,
                                 std::int64_t bytes_max);

// read_text returns a whole file as text, and raises as read_file does. write_synced writes a text
// into a new file, and syncs it.
std::string read_text(const Store& store, const std::string& path, std::int64_t bytes_max);
void write_synced(Store& store, const std::string& path, std::string_view text);

// joined returns the path of a file in a folder. The empty folder is the root.
std::string joined(const std::string& folder, const std::string& path);

}  // namespace simmesh::checkpoint
