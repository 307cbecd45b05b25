#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// The files of a checkpoint of simmesh's own. It is complete once it has the commit record.
inline constexpr const char* manifest_file = "manifest.json";
inline constexpr const char* commit_file = "commit.json";

// ManifestFile is a file of tensors. All its bytes belong to the header or to chunks.
struct ManifestFile {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t header_bytes = 0;
  std::uint64_t header_hash = 0;
};

// Manifest lists everything in a checkpoint of simmesh's own: its catalog, in which every chunk has
// its hash, and its files.
struct Manifest {
  std::int64_t world = 1;  // ranks that saved it
  Catalog catalog;
  std::vector<ManifestFile> files;
};

// manifest_text returns a manifest as JSON, and parse_manifest is its inverse. parse_manifest
// raises a ValueError for anything that manifest_text doesn't write, for chunks that overlap or
// don't cover their tensor, and for chunks that aren't within their file.
std::string manifest_text(const Manifest& manifest);
Manifest parse_manifest(std::string_view text);

// value_text returns a value as JSON, also numbers that JSON doesn't have, such as NaN. parse_value
// is its inverse.
std::string value_text(const JsonValue& value);
JsonValue parse_value(std::string_view text);

// catalog_text returns a catalog of any format as a text for other ranks. parse_catalog is its
// inverse.
std::string catalog_text(const Catalog& catalog);
Catalog parse_catalog(std::string_view text);

// unchecked_catalog parses a catalog whose chunks may leave something out.
Catalog unchecked_catalog(std::string_view text);

// CommitRecord is written last. It holds the hash of the manifest, which holds all other hashes.
struct CommitRecord {
  std::int64_t number = 1;  // counts the commits of a store
  std::int64_t manifest_bytes = 0;
  std::uint64_t manifest_hash = 0;
};

// commit_text returns a record with a hash of itself. parse_commit is its inverse, and raises a
// ValueError for a text that differs in any byte.
std::string commit_text(const CommitRecord& record);
CommitRecord parse_commit(std::string_view text);

// read_commit returns the record of a folder, nullopt if it has none. Raises a ValueError that
// names the file if the record is broken.
std::optional<CommitRecord> read_commit(const Store& store, const std::string& folder);

// read_manifest returns the manifest of a committed checkpoint. Raises a ValueError that names the
// file if the commit record is missing, or if record or manifest is not what was written.
Manifest read_manifest(const Store& store, const std::string& folder);

}  // namespace simmesh::checkpoint
