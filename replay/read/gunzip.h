#pragma once

#include <memory>
#include <string_view>

#include "replay/read/byte_source.h"

namespace simmesh::replay {

// is_gzip is true for the beginning of a file that gzip compressed.
bool is_gzip(std::string_view head);

// GunzipSource returns the bytes of a source that gzip compressed, of all its members one after
// another. What follows them and isn't a member, such as the zeros of a tape, is left out, as gzip
// does. The read that reaches the end of a member raises a ValueError that names the file where the
// length or the checksum of its bytes is another than the one recorded, and so does one of damaged
// or missing bytes.
//
//   std::string bytes;  // of a .gz
//   replay::TextSource packed("rank-0.json.gz", bytes);
//   replay::GunzipSource unpacked(packed);
class GunzipSource : public ByteSource {
 public:
  explicit GunzipSource(ByteSource& packed);
  ~GunzipSource() override;

 protected:
  std::size_t read_more(gsl::span<char> places) override;

 private:
  struct Inflater;

  ByteSource& packed_;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace simmesh::replay
