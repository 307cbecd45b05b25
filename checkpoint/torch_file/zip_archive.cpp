#include "checkpoint/torch_file/zip_archive.h"

#include <fmt/format.h>
#include <memory>
#include <zip.h>

#include "core/check/error.h"
#include "core/memory/not_enough_memory.h"

namespace simmesh::checkpoint {

namespace {

[[noreturn]] void refuse_zip(const std::string& why) {
  raise(ErrorKind::value_error, "checkpoint/zip", "{}", why);
}
// Tells an archive that is wrong from a library that got no memory. `about` is the subject of the
// library's text.
[[noreturn]] void refuse_zip(zip_error_t& error, const std::string& about = "") {
  if (zip_error_code_zip(&error) == ZIP_ER_MEMORY) throw NotEnoughMemory(0);
  refuse_zip(about + zip_error_strerror(&error));
}

// ZipError is the library's text for a call that failed.
class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;

  zip_error_t* get() { return &error_; }

 private:
  zip_error_t error_;
};

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

ZipMember read_member(zip_t* archive, zip_uint64_t index, std::size_t bytes_max) {
  zip_stat_t status;
  if (zip_stat_index(archive, index, 0, &status) != 0) refuse_zip(*zip_get_error(archive));
  if (status.comp_method != ZIP_CM_STORE || status.encryption_method != ZIP_EM_NONE)
    refuse_zip(fmt::format("the member {} is compressed or encrypted", status.name));
  if (status.size > bytes_max)
    refuse_zip(fmt::format("the member {} claims {} bytes, more than the archive has", status.name,
                           status.size));
  std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive, index, 0));
  if (!file) refuse_zip(*zip_get_error(archive));
  ZipMember member{status.name, std::vector<std::byte>(status.size)};
  // The library compares the checksum once it reads past the last byte.
  std::byte behind;
  if (zip_fread(file.get(), member.bytes.data(), status.size) != zip_int64_t(status.size) ||
      zip_fread(file.get(), &behind, 1) != 0)
    refuse_zip(*zip_file_get_error(file.get()),
               fmt::format("the member {} can't be read: ", status.name));
  return member;
}

}  // namespace

std::vector<ZipMember> read_zip(Bytes bytes) {
  // The library would read an empty file as an archive without members.
  if (bytes.empty()) refuse_zip("the archive has no bytes");
  ZipError error;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get());
  if (source == nullptr) refuse_zip(*error.get());
  Archive archive(zip_open_from_source(source, ZIP_RDONLY, error.get()));
  if (!archive) {
    zip_source_free(source);
    refuse_zip(*error.get());
  }
  std::vector<ZipMember> members;
  std::size_t left = bytes.size();
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i) {
    members.push_back(read_member(archive.get(), zip_uint64_t(i), left));
    left -= members.back().bytes.size();
  }
  return members;
}

namespace {

constexpr std::size_t local_header_bytes = 30, extra_header_bytes = 4;
constexpr zip_uint16_t padding_id = 0x4246;  // "FB", as PyTorch writes it

// Returns the extra field of a member, which lets its data begin at a multiple of the alignment.
std::size_t padding_before(std::size_t header_at, const std::string& name, std::size_t alignment) {
  std::size_t data = header_at + local_header_bytes + name.size() + extra_header_bytes;
  return (alignment - data % alignment) % alignment;
}

void add_member(zip_t* archive, const ZipMember& member, std::size_t padding) {
  zip_source_t* source = zip_source_buffer(archive, member.bytes.data(), member.bytes.size(), 0);
  if (source == nullptr) refuse_zip(*zip_get_error(archive));
  zip_int64_t index = zip_file_add(archive, member.name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    refuse_zip(*zip_get_error(archive));
  }
  std::vector<zip_uint8_t> fill(padding, 'Z');
  constexpr zip_uint16_t midnight = 0, first_of_1980 = 1 << 5 | 1;
  if (zip_set_file_compression(archive, zip_uint64_t(index), ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, zip_uint64_t(index), midnight, first_of_1980, 0) != 0 ||
      zip_file_extra_field_set(archive, zip_uint64_t(index), padding_id, ZIP_EXTRA_FIELD_NEW,
                               fill.data(), zip_uint16_t(padding), ZIP_FL_LOCAL) != 0)
    refuse_zip(*zip_get_error(archive));
}

}  // namespace

std::vector<std::byte> zip_of(const std::vector<ZipMember>& members, std::size_t alignment) {
  ZipError error;
  zip_source_t* source = zip_source_buffer_create(nullptr, 0, 0, error.get());
  if (source == nullptr) refuse_zip(*error.get());
  Archive archive(zip_open_from_source(source, ZIP_TRUNCATE, error.get()));
  if (!archive) {
    zip_source_free(source);
    refuse_zip(*error.get());
  }
  std::size_t at = 0;
  for (const ZipMember& member : members) {
    std::size_t padding = padding_before(at, member.name, alignment);
    add_member(archive.get(), member, padding);
    at += local_header_bytes + member.name.size() + extra_header_bytes + padding +
          member.bytes.size();
  }
  zip_source_keep(source);
  std::unique_ptr<zip_source_t, decltype(&zip_source_free)> kept(source, zip_source_free);
  // zip_close frees the archive, unless it fails.
  zip_t* open = archive.release();
  if (zip_close(open) != 0) {
    archive.reset(open);
    refuse_zip(*zip_get_error(open));
  }
  zip_stat_t status;
  if (zip_source_stat(source, &status) != 0 || zip_source_open(source) != 0)
    refuse_zip(*zip_source_error(source));
  std::vector<std::byte> bytes(status.size);
  zip_int64_t count = zip_source_read(source, bytes.data(), bytes.size());
  zip_source_close(source);
  if (count != zip_int64_t(bytes.size())) refuse_zip("the archive can't be read back");
  return bytes;
}

}  // namespace simmesh::checkpoint
