#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// MemoryStore keeps files in memory, as a file system with a cache does. Written bytes are seen at
// once; if the machine stops, they are lost unless they were synced. Copies are the same store.
class MemoryStore final : public Store {
 public:
  MemoryStore();

  std::string name() const override { return "memory"; }
  std::vector<std::string> files(const std::string& folder) const override;
  std::vector<std::string> folders(const std::string& folder) const override;
  std::optional<std::int64_t> size(const std::string& path) const override;
  void read(const std::string& path, std::int64_t begin, MutableBytes out) const override;
  std::unique_ptr<OutputFile> create(const std::string& path) override;
  std::unique_ptr<StoreLock> lock() override;
  void sync_folder(const std::string& folder) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;

  // After is the part of unsynced bytes that a stopped machine has kept: nothing, everything, or
  // the first half of each file under all names.
  enum class After : std::uint8_t { only_synced, everything, half_of_each_file };

  // stopped returns the store that is left after the machine stopped.
  MemoryStore stopped(After after) const;

  // flip inverts one bit of a file.
  void flip(const std::string& path, std::int64_t byte, int bit);

 private:
  struct Node;
  using Names = std::map<std::string, std::shared_ptr<Node>>;
  // A file or a folder, by whatever names it has.
  struct Node {
    bool is_folder = false;
    std::vector<std::byte> bytes;
    std::size_t synced_bytes = 0;  // survive a stop
    Names names;                   // as programs see them
    Names synced_names;            // survive a stop
  };
  struct State {
    mutable std::mutex mutex;
    Node root;
    bool is_locked = false;
  };
  class Output;
  class Lock;

  const Node* find(const std::string& path) const;
  Node* find(const std::string& path);
  const Node& file(const std::string& what, const std::string& path) const;
  static std::shared_ptr<Node> left_of(const Node& node, After after);

  std::shared_ptr<State> state_;
};

}  // namespace simmesh::checkpoint
