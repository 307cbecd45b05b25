#include "checkpoint/torch_file/zip_directory.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::uint32_t local_mark = 0x04034b50, entry_mark = 0x02014b50, end_mark = 0x06054b50,
                        end64_mark = 0x06064b50, locator64_mark = 0x07064b50;
constexpr std::int64_t local_bytes = 30, entry_bytes = 46, end_bytes = 22, end64_bytes = 56,
                       locator64_bytes = 20, comment_max = 0xffff;
constexpr std::uint64_t in_16_bits = 0xffff,
                        in_32_bits = 0xffffffff;  // "it is in the 64-bit field"
constexpr std::uint16_t zip64_id = 1, encrypted_flag = 1, stored_method = 0;

[[noreturn]] void refuse_directory(const std::string& why) {
  raise(ErrorKind::value_error, "checkpoint/zip", "{}", why);
}

// Part is a part of a file, with little-endian numbers.
class Part {
 public:
  explicit Part(Bytes bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size(); }
  std::uint64_t number(std::size_t at, std::size_t width) const {
    if (at > bytes_.size() || width > bytes_.size() - at) refuse_directory("an entry is cut off");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
      value |= std::uint64_t(std::to_integer<unsigned>(bytes_[at + i])) << (8 * i);
    return value;
  }
  std::string text(std::size_t at, std::size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) refuse_directory("a name is cut off");
    return {reinterpret_cast<const char*>(bytes_.data()) + at, count};
  }

 private:
  Bytes bytes_;
};

// ZipDirectory reads the list of members at the end of an archive.
class ZipDirectory {
 public:
  ZipDirectory(const Store& store, const std::string& path) : store_(store), path_(path) {
    auto size = store.size(path);
    if (!size) raise(ErrorKind::value_error, "checkpoint/zip", "no file {}", path);
    size_ = *size;
  }

  std::vector<ZipPlace> read() {
    find();
    std::vector<std::byte> bytes = part(begin_, bytes_);
    Part list((Bytes(bytes)));
    std::vector<ZipPlace> members;
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count_; ++i) members.push_back(member(list, at));
    return members;
  }

 private:
  std::vector<std::byte> part(std::int64_t begin, std::int64_t bytes) const {
    if (begin < 0 || bytes < 0 || begin > size_ || bytes > size_ - begin)
      refuse_directory(fmt::format("{} bytes from {} on, in a file of {}", bytes, begin, size_));
    std::vector<std::byte> read(static_cast<std::size_t>(bytes));
    store_.read(path_, begin, read);
    return read;
  }

  void find();
  void find64(std::int64_t end);
  void set_place(std::uint64_t count, std::uint64_t bytes, std::uint64_t begin) {
    if (begin > std::uint64_t(size_) || bytes > std::uint64_t(size_) - begin)
      refuse_directory("the list of members is outside of the file");
    count_ = count;
    bytes_ = std::int64_t(bytes);
    begin_ = std::int64_t(begin);
  }
  ZipPlace member(const Part& list, std::size_t& at) const;
  std::int64_t data_begin(std::uint64_t header_at) const;

  const Store& store_;
  const std::string& path_;
  std::int64_t size_ = 0, begin_ = 0, bytes_ = 0;
  std::uint64_t count_ = 0;
};

void ZipDirectory::find() {
  std::int64_t tail = std::min(size_, end_bytes + comment_max);
  std::vector<std::byte> bytes = part(size_ - tail, tail);
  Part end((Bytes(bytes)));
  for (std::int64_t at = tail - end_bytes; at >= 0; --at) {
    auto place = std::size_t(at);
    if (end.number(place, 4) != end_mark ||
        std::int64_t(end.number(place + 20, 2)) != tail - at - end_bytes)
      continue;
    std::uint64_t count = end.number(place + 10, 2), length = end.number(place + 12, 4),
                  begin = end.number(place + 16, 4);
    if (count == in_16_bits || length == in_32_bits || begin == in_32_bits)
      find64(size_ - tail + at);
    else
      set_place(count, length, begin);
    return;
  }
  refuse_directory("it is no zip archive, or its end is missing");
}

void ZipDirectory::find64(std::int64_t end) {
  std::vector<std::byte> bytes = part(end - locator64_bytes, locator64_bytes);
  Part locator((Bytes(bytes)));
  if (locator.number(0, 4) != locator64_mark) refuse_directory("the 64-bit end is missing");
  std::uint64_t at = locator.number(8, 8);
  if (at > std::uint64_t(size_)) refuse_directory("the 64-bit end is outside of the file");
  std::vector<std::byte> end_of_64 = part(std::int64_t(at), end64_bytes);
  Part record((Bytes(end_of_64)));
  if (record.number(0, 4) != end64_mark) refuse_directory("the 64-bit end is missing");
  set_place(record.number(32, 8), record.number(40, 8), record.number(48, 8));
}

// Returns the value of a 32-bit field, or of the next 64-bit field that replaces it.
std::uint64_t long_field(const Part& list, std::uint64_t value, std::optional<std::size_t>& at) {
  if (value != in_32_bits || !at) return value;
  std::uint64_t wide = list.number(*at, 8);
  *at += 8;
  return wide;
}

// Returns the begin of an entry's 64-bit fields, nullopt if it has none.
std::optional<std::size_t> find_zip64(const Part& list, std::size_t at, std::size_t end) {
  while (at + 4 <= end) {
    if (list.number(at, 2) == zip64_id) return at + 4;
    at += 4 + list.number(at + 2, 2);
  }
  return std::nullopt;
}

ZipPlace ZipDirectory::member(const Part& list, std::size_t& at) const {
  if (list.number(at, 4) != entry_mark) refuse_directory("the list of members is broken");
  std::uint64_t name_bytes = list.number(at + 28, 2), extra = list.number(at + 30, 2);
  ZipPlace member;
  member.name = list.text(at + entry_bytes, name_bytes);
  if ((list.number(at + 8, 2) & encrypted_flag) != 0 || list.number(at + 10, 2) != stored_method)
    refuse_directory(fmt::format("the member {} is compressed or encrypted", member.name));
  member.checksum = std::uint32_t(list.number(at + 16, 4));
  std::size_t extra_at = at + entry_bytes + name_bytes;
  std::optional<std::size_t> wide = find_zip64(list, extra_at, extra_at + extra);
  std::uint64_t bytes = long_field(list, list.number(at + 24, 4), wide);
  if (long_field(list, list.number(at + 20, 4), wide) != bytes)
    refuse_directory(fmt::format("the member {} has two sizes", member.name));
  member.begin = data_begin(long_field(list, list.number(at + 42, 4), wide));
  if (bytes > std::uint64_t(size_ - member.begin))
    refuse_directory(fmt::format("the member {} claims {} bytes, more than the archive has",
                                 member.name, bytes));
  member.bytes = std::int64_t(bytes);
  at = extra_at + extra + list.number(at + 32, 2);
  return member;
}

std::int64_t ZipDirectory::data_begin(std::uint64_t header_at) const {
  if (header_at > std::uint64_t(size_)) refuse_directory("a member is outside of the file");
  std::vector<std::byte> bytes = part(std::int64_t(header_at), local_bytes);
  Part header((Bytes(bytes)));
  if (header.number(0, 4) != local_mark) refuse_directory("a member without its header");
  std::int64_t begin = std::int64_t(header_at) + local_bytes + std::int64_t(header.number(26, 2)) +
                       std::int64_t(header.number(28, 2));
  if (begin > size_) refuse_directory("a member is outside of the file");
  return begin;
}

std::array<std::uint32_t, 256> crc32_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320u : 0);
    table[i] = value;
  }
  return table;
}

}  // namespace

std::uint32_t crc32(Bytes bytes, std::uint32_t before) {
  static const std::array<std::uint32_t, 256> table = crc32_table();
  std::uint32_t value = ~before;
  for (std::byte byte : bytes)
    value = table[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xff] ^ (value >> 8);
  return ~value;
}

std::vector<ZipPlace> read_zip_directory(const Store& store, const std::string& path) {
  return ZipDirectory(store, path).read();
}

bool is_zip_member_whole(const Store& store, const std::string& path, const ZipPlace& member) {
  constexpr std::int64_t at_once = 1 << 20;
  std::uint32_t checksum = 0;
  std::vector<std::byte> bytes;
  for (std::int64_t at = 0; at < member.bytes; at += std::int64_t(bytes.size())) {
    bytes.resize(std::size_t(std::min(at_once, member.bytes - at)));
    store.read(path, member.begin + at, bytes);
    checksum = crc32(bytes, checksum);
  }
  return checksum == member.checksum;
}

}  // namespace simmesh::checkpoint
