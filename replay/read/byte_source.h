#pragma once

#include <cstddef>
#include <gsl/span>
#include <string>
#include <string_view>

namespace simmesh::replay {

// ByteSource returns the bytes of one file, unpacked, from its beginning to its end.
class ByteSource {
 public:
  // name is the file's: "rank-0.json.gz", "dlrm.tar.gz:dlrm/rank_0.json".
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  const std::string& name() const { return name_; }

  // head returns the first bytes, at most 4 KiB or as many as asked for, which read returns again.
  // It is for finding out the form of a file, before the first read.
  std::string_view head(std::size_t bytes = 4096);

  // read fills at most all of the places and returns how many; 0 at the end. Raises a ValueError
  // for a damaged archive and where a limit is passed.
  std::size_t read(gsl::span<char> places);

 protected:
  virtual std::size_t read_more(gsl::span<char> places) = 0;

 private:
  std::string name_;
  std::string head_;
  std::size_t head_taken_ = 0;
};

// TextSource returns the bytes of a text in memory, which must outlive it.
class TextSource : public ByteSource {
 public:
  TextSource(std::string name, std::string_view text) : ByteSource(std::move(name)), rest_(text) {}

 protected:
  std::size_t read_more(gsl::span<char> places) override;

 private:
  std::string_view rest_;
};

}  // namespace simmesh::replay
