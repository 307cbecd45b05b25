#include "replay/read/gunzip.h"

#include <algorithm>
#include <limits>
#include <vector>
#include <zlib.h>

#include "core/check/error.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view gunzip_place = "replay/unpack";
constexpr std::size_t packed_block_bytes = 1 << 16;
constexpr int gzip_only = 16 + MAX_WBITS;

}  // namespace

bool is_gzip(std::string_view head) { return head.starts_with("\x1f\x8b"); }

struct GunzipSource::Inflater {
  z_stream stream = {};
  std::vector<char> block = std::vector<char>(packed_block_bytes);
  bool is_between_members = true;
  bool has_ended = false;

  Inflater() {
    if (inflateInit2(&stream, gzip_only) != Z_OK)
      raise(ErrorKind::runtime_error, gunzip_place, "there is no memory to unpack anything");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::string_view left() const {
    return {reinterpret_cast<const char*>(stream.next_in), stream.avail_in};
  }
  // Reads more packed bytes after those that are left; false at the end of the source.
  bool fill(ByteSource& packed) {
    std::size_t kept = stream.avail_in;
    std::copy_n(left().data(), kept, block.data());
    std::size_t more = packed.read(gsl::span<char>(block).subspan(kept));
    stream.next_in = reinterpret_cast<Bytef*>(block.data());
    stream.avail_in = uInt(kept + more);
    return more > 0;
  }
};

GunzipSource::GunzipSource(ByteSource& packed)
    : ByteSource(packed.name()), packed_(packed), inflater_(std::make_unique<Inflater>()) {}

GunzipSource::~GunzipSource() = default;

std::size_t GunzipSource::read_more(gsl::span<char> places) {
  Inflater& inflater = *inflater_;
  z_stream& stream = inflater.stream;
  auto refuse = [&](std::string_view what) {
    raise(ErrorKind::value_error, gunzip_place,
          "{}: expected a file that gzip wrote, in good order, got: {}", name(), what);
  };
  auto wanted = uInt(std::min<std::size_t>(places.size(), std::numeric_limits<uInt>::max()));
  stream.next_out = reinterpret_cast<Bytef*>(places.data());
  stream.avail_out = wanted;
  while (stream.avail_out == wanted && wanted > 0 && !inflater.has_ended) {
    if (inflater.is_between_members) {
      while (inflater.left().size() < 2 && inflater.fill(packed_)) {
      }
      inflater.has_ended = !is_gzip(inflater.left());
      if (inflater.has_ended) break;
      inflater.is_between_members = false;
    }
    if (stream.avail_in == 0 && !inflater.fill(packed_)) refuse("one that ends early");
    int status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      inflater.is_between_members = true;
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      refuse(stream.msg ? stream.msg : "damaged bytes");
    }
  }
  return wanted - stream.avail_out;
}

}  // namespace simmesh::replay
