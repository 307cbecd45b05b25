#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// Files of a checkpoint of ours. It is complete once the commit record is there.
inline constexpr const char* manifest_file = "manifest.json";
inline constexpr const char* commit_file = "commit.json";

// ManifestFile is a file of tensors. Between them, the header and the chunks are all its bytes.
struct ManifestFile {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t header_bytes = 0;
  std::uint64_t header_hash = 0;
};

// Manifest says what a checkpoint of ours holds: its catalog, in which every chunk has its hash,
// and its files.
struct Manifest {
  std::int64_t world = 1;  // ranks that saved it
  Catalog catalog;
  std::vector<ManifestFile> files;
};

// manifest_text returns a manifest as JSON; parse_manifest is its inverse. It raises a ValueError
// for anything that manifest_text doesn't write, for chunks that overlap or leave something out,
// and for chunks that aren't within their file.
std::string manifest_text(const Manifest& manifest);
Manifest parse_manifest(std::string_view text);

// value_text returns a value as JSON; numbers that JSON doesn't have, such as NaN, too. parse_value
// is its inverse.
std::string value_text(const JsonValue& value);
JsonValue parse_value(std::string_view text);

// catalog_text passes any catalog to another rank; parse_catalog is its inverse.
std::string catalog_text(const Catalog& catalog);
Catalog parse_catalog(std::string_view text);

// unchecked_catalog does so for a catalog that may leave something out.
Catalog unchecked_catalog(std::string_view text);

// CommitRecord is written last. It holds the hash of the manifest, and so of everything.
struct CommitRecord {
  std::int64_t number = 1;  // of the checkpoints of a store, in the order of their commits
  std::int64_t manifest_bytes = 0;
  std::uint64_t manifest_hash = 0;
};

// commit_text returns a record with a hash of itself; parse_commit is its inverse, and raises a
// ValueError for a text in which anything is different.
std::string commit_text(const CommitRecord& record);
CommitRecord parse_commit(std::string_view text);

// read_commit returns the record of a folder; nullopt where it has none. Raises a ValueError that
// names the file for one that is broken.
std::optional<CommitRecord> read_commit(const Store& store, const std::string& folder);

// read_manifest returns the manifest of a committed checkpoint. Raises a ValueError that names the
// file where the commit record is missing, or where either is not what was written.
Manifest read_manifest(const Store& store, const std::string& folder);

}  // namespace simmesh::checkpoint
