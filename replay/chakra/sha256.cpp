#include "replay/chakra/sha256.h"

#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <memory>

#include "core/check/check.h"
#include "core/memory/not_enough_memory.h"

namespace simmesh::replay {

namespace {

la_ssize_t append_listing(archive* /*from*/, void* to, const void* bytes, std::size_t count) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), count);
  return la_ssize_t(count);
}

// Returns a listing of one file, in the form of mtree, with nothing but its digest.
std::string listing_of(std::string_view bytes) {
  std::string listing;
  std::unique_ptr<archive, int (*)(archive*)> out(archive_write_new(), archive_write_free);
  std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                 archive_entry_free);
  if (!out || !entry) throw NotEnoughMemory(0);
  auto expect = [&](la_ssize_t status) {
    if (status < 0 && archive_errno(out.get()) == ENOMEM) throw NotEnoughMemory(0);
    SIMMESH_CHECK(status >= 0, "libarchive: {}", archive_error_string(out.get()));
  };
  expect(archive_write_set_format_mtree(out.get()));
  expect(archive_write_set_options(out.get(), "!all,sha256"));
  expect(archive_write_open(out.get(), &listing, nullptr, append_listing, nullptr));
  archive_entry_set_pathname(entry.get(), "bytes");
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_size(entry.get(), la_int64_t(bytes.size()));
  expect(archive_write_header(out.get(), entry.get()));
  for (std::size_t begin = 0; begin < bytes.size();) {
    la_ssize_t written = archive_write_data(out.get(), bytes.data() + begin, bytes.size() - begin);
    SIMMESH_CHECK(written > 0, "libarchive: {}", archive_error_string(out.get()));
    begin += std::size_t(written);
  }
  expect(archive_write_close(out.get()));
  return listing;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  constexpr std::string_view key = "sha256digest=";
  std::string listing = listing_of(bytes);
  std::size_t begin = listing.find(key);
  SIMMESH_CHECK(begin != std::string::npos, "libarchive gives no SHA-256: {}", listing);
  return listing.substr(begin + key.size(), 64);
}

}  // namespace simmesh::replay
