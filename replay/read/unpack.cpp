#include "replay/read/unpack.h"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "core/check/error.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view unpack_place = "replay/unpack";
constexpr std::size_t block_bytes = 1 << 16;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using ArchiveReader = std::unique_ptr<archive, FreeArchive>;

enum class Form { any, compressed };

ArchiveReader new_reader(Form form) {
  ArchiveReader reader(archive_read_new());
  if (!reader)
    raise(ErrorKind::runtime_error, unpack_place, "there is no memory to unpack anything");
  archive_read_support_filter_gzip(reader.get());
  if (form == Form::any) archive_read_support_format_tar(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_read_support_format_empty(reader.get());
  return reader;
}

[[noreturn]] void refuse(const std::string& name, archive* reader) {
  const char* why = archive_error_string(reader);
  raise(ErrorKind::value_error, unpack_place,
        "{}: expected a file or an archive in good order, got: {}", name,
        why ? why : "a damaged one");
}

// Budget counts the unpacked bytes of a file on disk.
struct Budget {
  const UnpackLimits& limits;
  const std::string& path;
  archive* outermost = nullptr;
  std::int64_t unpacked = 0;
  std::int64_t members = 0;

  void take(std::int64_t bytes) {
    unpacked += bytes;
    if (unpacked > limits.bytes_max)
      raise(ErrorKind::value_error, unpack_place,
            "{}: expected at most {} bytes when unpacked, got more", path, limits.bytes_max);
    std::int64_t packed = std::max<std::int64_t>(archive_filter_bytes(outermost, -1), 1);
    if (unpacked > limits.ratio_from_bytes && unpacked / packed > limits.ratio_max)
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

// MemberSource is the entry at which an archive's reader stands.
class MemberSource : public ByteSource {
 public:
  MemberSource(std::string name, archive* reader, Budget* budget)
      : ByteSource(std::move(name)), reader_(reader), budget_(budget) {}

 protected:
  std::size_t read_more(gsl::span<char> places) override {
    la_ssize_t count = archive_read_data(reader_, places.data(), places.size());
    if (count < 0) refuse(name(), reader_);
    if (budget_) budget_->take(count);
    return std::size_t(count);
  }

 private:
  archive* reader_;
  Budget* budget_;  // null where the bytes are still compressed, and counted once they aren't
};

// CompressedBytes hands a compressed member to the reader that unpacks it. Exceptions don't cross
// the library's calls.
struct CompressedBytes {
  ByteSource& source;
  std::vector<char> block = std::vector<char>(block_bytes);
  std::exception_ptr error = nullptr;

  static la_ssize_t read(archive*, void* self, const void** bytes) {
    auto& compressed = *static_cast<CompressedBytes*>(self);
    *bytes = compressed.block.data();
    try {
      return la_ssize_t(compressed.source.read(compressed.block));
    } catch (...) {
      compressed.error = std::current_exception();
      return -1;
    }
  }
};

void visit_compressed(const std::string& name, archive* outer, Budget& budget,
                      const std::function<void(ByteSource&)>& visit) {
  MemberSource member(name, outer, nullptr);
  CompressedBytes compressed{member};
  ArchiveReader reader = new_reader(Form::compressed);
  auto refuse_member = [&] {
    if (compressed.error) std::rethrow_exception(compressed.error);
    refuse(name, reader.get());
  };
  archive_entry* entry = nullptr;
  if (archive_read_open(reader.get(), &compressed, nullptr, CompressedBytes::read, nullptr) !=
      ARCHIVE_OK)
    refuse_member();
  int status = archive_read_next_header(reader.get(), &entry);
  if (status != ARCHIVE_OK && status != ARCHIVE_EOF) refuse_member();
  if (status == ARCHIVE_EOF) {
    TextSource nothing(name, {});
    return visit(nothing);
  }
  MemberSource unpacked(name, reader.get(), &budget);
  visit(unpacked);
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

void visit_members(const std::string& path, archive* reader, archive_entry* entry, Budget& budget,
                   const std::function<void(ByteSource&)>& visit) {
  int status = ARCHIVE_OK;
  for (; status == ARCHIVE_OK || status == ARCHIVE_WARN;
       status = archive_read_next_header(reader, &entry)) {
    budget.take_member();
    const char* member = archive_entry_pathname(entry);
    if (!member) raise(ErrorKind::value_error, unpack_place, "{}: a member has no name", path);
    require_harmless(path, member, entry);
    std::string base = std::filesystem::path(member).filename();
    if (archive_entry_filetype(entry) == AE_IFDIR || base.starts_with("._")) continue;
    std::string name = path + ":" + member;
    if (base.ends_with(".gz")) {
      visit_compressed(name, reader, budget, visit);
      continue;
    }
    MemberSource source(name, reader, &budget);
    visit(source);
  }
  if (status != ARCHIVE_EOF) refuse(path, reader);
}

void visit_file(const std::string& path, const std::function<void(ByteSource&)>& visit,
                const UnpackLimits& limits) {
  ArchiveReader reader = new_reader(Form::any);
  Budget budget{.limits = limits, .path = path, .outermost = reader.get()};
  if (archive_read_open_filename(reader.get(), path.c_str(), block_bytes) != ARCHIVE_OK)
    refuse(path, reader.get());
  archive_entry* entry = nullptr;
  int status = archive_read_next_header(reader.get(), &entry);
  if (status == ARCHIVE_EOF) {
    TextSource nothing(path, {});
    return visit(nothing);
  }
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) refuse(path, reader.get());
  if (archive_format(reader.get()) != ARCHIVE_FORMAT_RAW)
    return visit_members(path, reader.get(), entry, budget, visit);
  MemberSource source(path, reader.get(), &budget);
  visit(source);
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
