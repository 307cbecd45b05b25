#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <gsl/span>
#include <string>
#include <string_view>

namespace simmesh::replay {

// ByteSource gives the bytes of one file, unpacked, from its beginning to its end.
class ByteSource {
 public:
  // name is the file's: "rank-0.json.gz", "dlrm.tar.gz:dlrm/rank_0.json".
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  const std::string& name() const { return name_; }

  // read fills at most all of the places and returns how many; 0 at the end. Raises a ValueError
  // for a damaged archive and where a limit is passed.
  virtual std::size_t read(gsl::span<char> places) = 0;

 private:
  std::string name_;
};

// TextSource gives the bytes of a text in memory.
class TextSource : public ByteSource {
 public:
  TextSource(std::string name, std::string_view text) : ByteSource(std::move(name)), rest_(text) {}

  std::size_t read(gsl::span<char> places) override;

 private:
  std::string_view rest_;
};

// UnpackLimits bound what an archive may become, so that a small file can't fill the memory.
struct UnpackLimits {
  std::int64_t bytes_max = std::int64_t(64) << 30;  // of all members together
  // Bytes that one packed byte may become on the average, from 64 MiB on.
  std::int64_t ratio_max = 200;
  std::int64_t members_max = 1'000'000;
};

// for_each_file calls visit with each file that a path stands for, in the order of their names: a
// folder's files and those of its folders, the members of a .tar or .tar.gz, and for anything else
// the file itself, unpacked where it is compressed by gzip. Side files of macOS ("._name") are left
// out. Raises a ValueError for a path that doesn't exist, for a damaged archive, for one that
// passes the limits, and for a member that is a link or whose path is absolute or climbs out of the
// archive.
void for_each_file(const std::string& path, const std::function<void(ByteSource&)>& visit,
                   const UnpackLimits& limits = {});

}  // namespace simmesh::replay
