#include "checkpoint/native/commit.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "checkpoint/store/remove_after_failure.h"
#include "core/check/bits_hash.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// Endings of the folders of an unfinished save, and of a checkpoint that is being removed.
constexpr std::string_view staging_ending = ".saving", removing_ending = ".removing";
constexpr std::int64_t latest_bytes_max = 4096, uncommitted_bytes_max = std::int64_t{4} << 30;

// Replaces a file as a whole: it has the old text or the new one.
void replace_synced(Store& store, const std::string& folder, const std::string& name,
                    std::string_view text) {
  std::string path = joined(folder, name), other = path + ".new";
  store.remove(other);
  try {
    write_synced(store, other, text);
    store.rename(other, path);
  } catch (...) {
    remove_after_failure(store, other);
    throw;
  }
  store.sync_folder(folder);
}

// Returns the folders of the manifest's files, below that of the checkpoint.
std::set<std::string> part_folders(const Manifest& manifest) {
  std::set<std::string> folders;
  for (const ManifestFile& file : manifest.files)
    if (std::size_t slash = file.name.rfind('/'); slash != file.name.npos)
      folders.insert(file.name.substr(0, slash));
  return folders;
}

void remove_checkpoint(Store& store, const std::string& name) {
  // Under another name it is no checkpoint, even if the removal is cut off.
  std::string removing = name + std::string(removing_ending);
  store.remove(removing);
  store.rename(name, removing);
  store.sync_folder("");
  store.remove(removing);
}

// True for the folder of a save that was cut off after its rename: it has a manifest of ours, and
// no commit record.
bool is_uncommitted(const Store& store, const std::string& folder) {
  std::string manifest = joined(folder, manifest_file);
  if (!store.size(manifest) || store.size(joined(folder, commit_file))) return false;
  try {
    parse_manifest(read_text(store, manifest, uncommitted_bytes_max));
  } catch (const Error&) {
    return false;  // another program's file may have this name
  }
  return true;
}

void remove_leftovers(Store& store) {
  for (const std::string& folder : store.folders(""))
    if (folder.ends_with(staging_ending) || folder.ends_with(removing_ending) ||
        is_uncommitted(store, folder))
      store.remove(folder);
}

}  // namespace

Commit::Commit(const Location& location)
    : location_(location), staging_(location.name + std::string(staging_ending)) {
  if (location.name.ends_with(staging_ending) || location.name.ends_with(removing_ending))
    raise(ErrorKind::value_error, "checkpoint/save", "{}: a name may not end in {} or {}",
          location.text(), staging_ending, removing_ending);
  Store& store = *location_.store;
  lock_ = store.lock();
  remove_leftovers(store);
  if (store.files(location_.name).empty() && !store.size(location_.name)) return;
  bool is_checkpoint = store.size(joined(location_.name, commit_file)).has_value();
  bool is_ours = store.size(joined(location_.name, manifest_file)).has_value();
  if (is_checkpoint || !is_ours)
    raise(ErrorKind::value_error, "checkpoint/save",
          "{} exists, and {}; a save never overwrites: choose another name, or remove it first",
          location_.text(), is_checkpoint ? "is a checkpoint" : "is no checkpoint of ours");
  // A save was cut off before its commit record.
  store.remove(location_.name);
}

Commit::~Commit() {
  if (!is_finished_) remove_after_failure(*location_.store, staging_);
}

CommitRecord Commit::finish(const Manifest& manifest, const CommitOptions& options) {
  Store& store = *location_.store;
  std::string text = manifest_text(manifest);
  std::int64_t number = 1;
  for (const CommittedCheckpoint& other : committed_checkpoints(store))
    number = std::max(number, other.number + 1);
  CommitRecord record = {number, std::int64_t(text.size()),
                         bits_hash(gsl::as_bytes(gsl::span<const char>(text.data(), text.size())))};

  write_synced(store, joined(staging_, manifest_file), text);
  for (const std::string& folder : part_folders(manifest))
    store.sync_folder(joined(staging_, folder));
  store.sync_folder(staging_);
  store.rename(staging_, location_.name);
  is_finished_ = true;
  store.sync_folder("");
  try {
    replace_synced(store, location_.name, commit_file, commit_text(record));
  } catch (...) {
    remove_after_failure(store, location_.name);
    throw;
  }
  if (options.updates_latest) replace_synced(store, "", latest_file, location_.name + "\n");
  if (!options.keep) return record;
  std::vector<CommittedCheckpoint> all = committed_checkpoints(store);
  auto surplus = std::int64_t(all.size()) - std::max<std::int64_t>(*options.keep, 1);
  for (std::int64_t i = 0; i < surplus; ++i) remove_checkpoint(store, all[std::size_t(i)].name);
  return record;
}

std::vector<CommittedCheckpoint> committed_checkpoints(const Store& store) {
  std::vector<CommittedCheckpoint> found;
  for (const std::string& folder : store.folders("")) {
    if (folder.ends_with(staging_ending) || folder.ends_with(removing_ending)) continue;
    try {
      if (auto record = read_commit(store, folder)) found.push_back({folder, record->number});
    } catch (const Error&) {
      // A broken record is no commit. `checkpoint verify` reports it.
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.number < b.number; });
  return found;
}

std::optional<Location> latest(const std::shared_ptr<Store>& store) {
  std::vector<CommittedCheckpoint> all = committed_checkpoints(*store);
  if (all.empty()) return std::nullopt;
  if (store->size(latest_file).value_or(latest_bytes_max + 1) <= latest_bytes_max) {
    std::string name = read_text(*store, latest_file, latest_bytes_max);
    if (!name.empty() && name.back() == '\n') name.pop_back();
    for (const CommittedCheckpoint& checkpoint : all)
      if (checkpoint.name == name) return Location{store, name};
  }
  return Location{store, all.back().name};
}

}  // namespace simmesh::checkpoint
