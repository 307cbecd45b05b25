#include "replay/read/unpack.h"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "core/check/error.h"
#include "core/check/scarcity.h"
#include "core/memory/not_enough_memory.h"
#include "replay/read/gunzip.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view unpack_place = "replay/unpack";
constexpr std::size_t block_bytes = 1 << 16;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using ArchiveReader = std::unique_ptr<archive, FreeArchive>;

ArchiveReader new_reader() {
  ArchiveReader reader(archive_read_new());
  if (!reader) throw NotEnoughMemory(0);
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_read_support_format_empty(reader.get());
  return reader;
}

[[noreturn]] void refuse(const std::string& name, archive* reader) {
  if (archive_errno(reader) == ENOMEM) throw NotEnoughMemory(0);
  const char* why = archive_error_string(reader);
  raise(ErrorKind::value_error, unpack_place,
        "{}: expected a file or an archive in good order, got: {}", name,
        why ? why : "a damaged one");
}

// Budget counts the unpacked bytes of a file on disk.
struct Budget {
  const UnpackLimits& limits;
  const std::string& path;
  std::int64_t packed = 0;
  std::int64_t unpacked = 0;
  std::int64_t members = 0;

  void take(std::int64_t bytes) {
    unpacked += bytes;
    if (unpacked > limits.bytes_max)
      raise(ErrorKind::value_error, unpack_place,
            "{}: expected at most {} bytes when unpacked, got more", path, limits.bytes_max);
    if (unpacked > limits.ratio_from_bytes &&
        unpacked / std::max<std::int64_t>(packed, 1) > limits.ratio_max)
      raise(ErrorKind::value_error, unpack_place,
            "{}: expected at most {} unpacked bytes for each packed one, got {} from {}", path,
            limits.ratio_max, unpacked, packed);
  }

  void take_member() {
    if (++members > limits.members_max)
      raise(ErrorKind::value_error, unpack_place, "{}: expected at most {} members, got more", path,
            limits.members_max);
  }
};

// FileSource returns the bytes of a file on disk, and counts them as packed ones.
class FileSource : public ByteSource {
 public:
  FileSource(const std::string& path, Budget& budget)
      : ByteSource(path), stream_(path, std::ios::binary), budget_(budget) {
    if (!stream_)
      raise_refused(errno, ErrorKind::value_error, unpack_place,
                    "{}: expected a file that can be read", path);
  }

 protected:
  std::size_t read_more(gsl::span<char> places) override {
    stream_.read(places.data(), std::streamsize(places.size()));
    if (stream_.bad())
      raise(ErrorKind::value_error, unpack_place, "{}: expected a file that can be read", name());
    budget_.packed += stream_.gcount();
    return std::size_t(stream_.gcount());
  }

 private:
  std::ifstream stream_;
  Budget& budget_;
};

// CountedSource returns the bytes of another source, and counts them as unpacked ones.
class CountedSource : public ByteSource {
 public:
  CountedSource(ByteSource& source, Budget& budget)
      : ByteSource(source.name()), source_(source), budget_(budget) {}

 protected:
  std::size_t read_more(gsl::span<char> places) override {
    std::size_t count = source_.read(places);
    budget_.take(std::int64_t(count));
    return count;
  }

 private:
  ByteSource& source_;
  Budget& budget_;
};

// SourceBytes hands the bytes of a source to the reader of archives. Exceptions don't cross the
// library's calls.
struct SourceBytes {
  ByteSource& source;
  std::vector<char> block = std::vector<char>(block_bytes);
  std::exception_ptr error = nullptr;

  static la_ssize_t read(archive*, void* self, const void** bytes) {
    auto& from = *static_cast<SourceBytes*>(self);
    *bytes = from.block.data();
    try {
      return la_ssize_t(from.source.read(from.block));
    } catch (...) {
      from.error = std::current_exception();
      return -1;
    }
  }
};

// MemberSource is the entry at which an archive's reader stands.
class MemberSource : public ByteSource {
 public:
  MemberSource(std::string name, archive* reader, const SourceBytes& bytes)
      : ByteSource(std::move(name)), reader_(reader), bytes_(bytes) {}

 protected:
  std::size_t read_more(gsl::span<char> places) override {
    la_ssize_t count = archive_read_data(reader_, places.data(), places.size());
    // The library takes some errors for the end.
    if (count <= 0 && bytes_.error) std::rethrow_exception(bytes_.error);
    if (count >= 0) return std::size_t(count);
    refuse(name(), reader_);
  }

 private:
  archive* reader_;
  const SourceBytes& bytes_;
};

// Visits what a source holds, unpacked where gzip compressed it.
void visit_unpacked(ByteSource& packed, Budget& budget,
                    const std::function<void(ByteSource&)>& visit) {
  if (is_gzip(packed.head(2))) {
    GunzipSource unpacked(packed);
    CountedSource counted(unpacked, budget);
    visit(counted);
  } else {
    CountedSource counted(packed, budget);
    visit(counted);
  }
}

void require_harmless(const std::string& path, const char* member, archive_entry* entry) {
  auto type = archive_entry_filetype(entry);
  bool is_link = archive_entry_hardlink(entry) || archive_entry_symlink(entry);
  if (is_link || (type != AE_IFREG && type != AE_IFDIR))
    raise(ErrorKind::value_error, unpack_place,
          "{}: expected files and folders, got '{}', which is {}", path, member,
          is_link ? "a link" : "a device or a pipe");
  std::filesystem::path place(member);
  bool climbs =
      std::any_of(place.begin(), place.end(), [](const auto& part) { return part == ".."; });
  if (place.is_absolute() || climbs)
    raise(ErrorKind::value_error, unpack_place, "{}: expected members that stay inside, got '{}'",
          path, member);
}

// OpenArchive is the reader of the archive that a source may be.
struct OpenArchive {
  const std::string& path;
  archive* reader;
  SourceBytes& bytes;

  [[noreturn]] void refuse_it() const {
    if (bytes.error) std::rethrow_exception(bytes.error);
    refuse(path, reader);
  }
};

void visit_members(const OpenArchive& open, archive_entry* entry, Budget& budget,
                   const std::function<void(ByteSource&)>& visit) {
  int status = ARCHIVE_OK;
  for (; status == ARCHIVE_OK || status == ARCHIVE_WARN;
       status = archive_read_next_header(open.reader, &entry)) {
    budget.take_member();
    const char* member = archive_entry_pathname(entry);
    if (!member) raise(ErrorKind::value_error, unpack_place, "{}: a member has no name", open.path);
    require_harmless(open.path, member, entry);
    std::string base = std::filesystem::path(member).filename();
    if (archive_entry_filetype(entry) == AE_IFDIR || base.starts_with("._")) continue;
    MemberSource source(open.path + ":" + member, open.reader, open.bytes);
    if (base.ends_with(".gz"))
      visit_unpacked(source, budget, visit);
    else
      visit(source);
  }
  if (status != ARCHIVE_EOF || open.bytes.error) open.refuse_it();
  // The checksum of a compressed archive comes after its last member.
  while (open.bytes.source.read(open.bytes.block) > 0) {
  }
}

// A source that isn't an archive is visited as the raw member of one.
void visit_archive(ByteSource& source, const std::string& path, Budget& budget,
                   const std::function<void(ByteSource&)>& visit) {
  ArchiveReader reader = new_reader();
  SourceBytes bytes{source};
  OpenArchive open{path, reader.get(), bytes};
  if (archive_read_open(reader.get(), &bytes, nullptr, SourceBytes::read, nullptr) != ARCHIVE_OK)
    open.refuse_it();
  archive_entry* entry = nullptr;
  int status = archive_read_next_header(reader.get(), &entry);
  if (bytes.error) std::rethrow_exception(bytes.error);
  if (status == ARCHIVE_EOF) {
    TextSource nothing(path, {});
    return visit(nothing);
  }
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) open.refuse_it();
  if (archive_format(reader.get()) != ARCHIVE_FORMAT_RAW)
    return visit_members(open, entry, budget, visit);
  MemberSource member(path, reader.get(), bytes);
  visit(member);
}

void visit_file(const std::string& path, const std::function<void(ByteSource&)>& visit,
                const UnpackLimits& limits) {
  Budget budget{.limits = limits, .path = path};
  FileSource file(path, budget);
  visit_unpacked(file, budget,
                 [&](ByteSource& source) { visit_archive(source, path, budget, visit); });
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with("._"))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

void for_each_file(const std::string& path, const std::function<void(ByteSource&)>& visit,
                   const UnpackLimits& limits) {
  std::error_code error;
  std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    raise(ErrorKind::value_error, unpack_place,
          "{}: expected a file or a folder, got nothing there", path);
  if (!std::filesystem::is_directory(status)) return visit_file(path, visit, limits);
  for (const std::string& file : files_below(path)) visit_file(file, visit, limits);
}

}  // namespace simmesh::replay
