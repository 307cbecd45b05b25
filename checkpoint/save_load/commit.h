#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/manifest.h"

namespace simmesh::checkpoint {

// The file of a store that holds the name of the checkpoint that was committed last.
inline constexpr const char* latest_file = "latest";

// CommitOptions say what happens beside the commit.
struct CommitOptions {
  // Of the committed checkpoints of a store this many are kept, the youngest; all without it.
  std::optional<std::int64_t> keep = {};
  bool updates_latest = true;
};

// Commit is the way of a checkpoint into its store, step by step. Whatever happens between two
// operations of the store, the checkpoints that were there before can be loaded, and the new one
// either can, or isn't there:
//
//   1. begin       keeps other writers out, and removes what cut-off saves left behind
//   2.             files are written and synced in the folder staging()
//   3. finish      writes and syncs the manifest and the folders, renames staging(), writes the
//                  commit record under another name and renames it, does the same with the file
//                  "latest", and then removes checkpoints that are not kept
//
// One object does all of it, on one rank; others write their files into the same folder. If it is
// destroyed before finish, the folder is removed.
class Commit {
 public:
  // Raises a RuntimeError where another save is under way, and a ValueError where the location
  // holds a checkpoint already: a checkpoint is never overwritten.
  explicit Commit(const Location& location);
  ~Commit();
  Commit(const Commit&) = delete;
  Commit& operator=(const Commit&) = delete;

  // staging is the folder in the store into which files are written.
  const std::string& staging() const { return staging_; }
  CommitRecord finish(const Manifest& manifest, const CommitOptions& options);

 private:
  Location location_;
  std::string staging_;
  std::unique_ptr<StoreLock> lock_;
  bool is_finished_ = false;
};

// CommittedCheckpoint is a checkpoint of a store.
struct CommittedCheckpoint {
  std::string name;
  std::int64_t number = 0;
};

// committed_checkpoints returns the checkpoints of a store in the order of their commits. Folders
// whose commit record is missing or broken are none.
std::vector<CommittedCheckpoint> committed_checkpoints(const Store& store);

// latest returns where the last committed checkpoint of a store lies: the one that the file names,
// else, if that was lost, the one with the highest number; nullopt where there is none.
std::optional<Location> latest(const std::shared_ptr<Store>& store);

}  // namespace simmesh::checkpoint
