#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/manifest.h"

namespace simmesh::checkpoint {

// The file of a store with the name of the last committed checkpoint.
inline constexpr const char* latest_file = "latest";

// CommitOptions are the options of a commit.
struct CommitOptions {
  // The number of committed checkpoints of a store that are kept, the youngest ones. Without it all
  // are kept.
  std::optional<std::int64_t> keep = {};
  bool updates_latest = true;
};

// Commit brings a checkpoint into its store, step by step. Whatever happens between two operations
// of the store, earlier checkpoints can be loaded, and the new one can be loaded or isn't there:
//
//   1. Commit      keeps other writers out, and removes the leftovers of cut-off saves
//   2.             files are written and synced in the folder staging()
//   3. finish      writes and syncs the manifest and the folders, renames staging(), writes the
//                  commit record under another name and renames it, does the same with the file
//                  "latest", and then removes checkpoints that are not kept
//
// One rank has the object. Other ranks write their files into the same folder. The destructor
// removes the folder unless finish was called.
class Commit {
 public:
  // Raises a RuntimeError if another save is running, and a ValueError if the location has a
  // checkpoint: a checkpoint is never overwritten.
  explicit Commit(const Location& location);
  ~Commit();
  Commit(const Commit&) = delete;
  Commit& operator=(const Commit&) = delete;

  // staging returns the folder of the store into which files are written.
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

// committed_checkpoints returns the checkpoints of a store in the order of their commits. It leaves
// out folders whose commit record is missing or broken.
std::vector<CommittedCheckpoint> committed_checkpoints(const Store& store);

// latest returns the last committed checkpoint of a store: the one that the file `latest` names, or
// the one with the highest number if the file is lost. Returns nullopt if there is no checkpoint.
std::optional<Location> latest(const std::shared_ptr<Store>& store);

}  // namespace simmesh::checkpoint
