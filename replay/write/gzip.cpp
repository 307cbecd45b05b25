#include "replay/write/gzip.h"

#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <memory>

#include "core/check/check.h"
#include "core/memory/not_enough_memory.h"

namespace simmesh::replay {

namespace {

la_ssize_t append(archive* /*from*/, void* to, const void* bytes, std::size_t count) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), count);
  return la_ssize_t(count);
}

}  // namespace

std::string gzip(std::string_view bytes) {
  std::string result;
  std::unique_ptr<archive, int (*)(archive*)> out(archive_write_new(), archive_write_free);
  std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                 archive_entry_free);
  if (!out || !entry) throw NotEnoughMemory(0);
  auto expect = [&](la_ssize_t status) {
    if (status < 0 && archive_errno(out.get()) == ENOMEM) throw NotEnoughMemory(0);
    SIMMESH_CHECK(status >= 0, "libarchive: {}", archive_error_string(out.get()));
  };
  expect(archive_write_add_filter_gzip(out.get()));
  expect(archive_write_set_options(out.get(), "gzip:!timestamp"));
  expect(archive_write_set_format_raw(out.get()));
  // The last block isn't filled up.
  expect(archive_write_set_bytes_in_last_block(out.get(), 1));
  expect(archive_write_open(out.get(), &result, nullptr, append, nullptr));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  expect(archive_write_header(out.get(), entry.get()));
  for (std::size_t begin = 0; begin < bytes.size();) {
    la_ssize_t written = archive_write_data(out.get(), bytes.data() + begin, bytes.size() - begin);
    expect(written);
    begin += std::size_t(written);
  }
  expect(archive_write_close(out.get()));
  return result;
}

}  // namespace simmesh::replay
