#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <string>
#include <string_view>
#include <vector>

namespace simmesh::testing {

// PackedMember is a member of an archive that a test makes, harmless or not.
struct PackedMember {
  std::string name;
  std::string bytes;
  unsigned type = AE_IFREG;
  std::string link = {};  // of a symbolic one
  std::string hard_link = {};
};

inline la_ssize_t append_bytes(archive*, void* text, const void* bytes, std::size_t count) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(bytes), count);
  return la_ssize_t(count);
}

inline std::string pack(archive* writer, const std::vector<PackedMember>& members) {
  std::string packed;
  archive_write_set_bytes_per_block(writer, 0);
  archive_write_open(writer, &packed, nullptr, append_bytes, nullptr);
  for (const PackedMember& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, member.type);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, la_int64_t(member.bytes.size()));
    if (!member.link.empty()) archive_entry_set_symlink(entry, member.link.c_str());
    if (!member.hard_link.empty()) archive_entry_set_hardlink(entry, member.hard_link.c_str());
    archive_write_header(writer, entry);
    archive_write_data(writer, member.bytes.data(), member.bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  return packed;
}

// tar returns an archive of the members, compressed by gzip or not.
inline std::string tar(const std::vector<PackedMember>& members, bool is_compressed = true) {
  archive* writer = archive_write_new();
  archive_write_set_format_pax_restricted(writer);
  if (is_compressed) archive_write_add_filter_gzip(writer);
  return pack(writer, members);
}

// gzip returns bytes compressed by gzip.
inline std::string gzip(std::string_view bytes) {
  archive* writer = archive_write_new();
  archive_write_set_format_raw(writer);
  archive_write_add_filter_gzip(writer);
  return pack(writer, {{.name = "data", .bytes = std::string(bytes)}});
}

}  // namespace simmesh::testing
