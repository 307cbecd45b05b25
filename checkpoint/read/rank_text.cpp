#include "checkpoint/read/rank_text.h"

#include "core/check/check.h"

namespace simmesh::checkpoint {

void RankTextWriter::add(std::int64_t number) {
  // Seven bits a byte, the lowest first. The lowest bit of all is the sign.
  std::uint64_t bits = (std::uint64_t(number) << 1) ^ std::uint64_t(number >> 63);
  for (; bits >= 0x80; bits >>= 7) text_ += char(bits | 0x80);
  text_ += char(bits);
}

void RankTextWriter::add(std::string_view text) {
  add(std::int64_t(text.size()));
  text_ += text;
}

void RankTextWriter::add(DimSpan dims) {
  add(std::int64_t(dims.size()));
  for (std::int64_t number : dims) add(number);
}

void RankTextWriter::add(const Box& box) {
  add(DimSpan(box.offsets));
  for (std::int64_t size : box.sizes) add(size);
}

std::int64_t RankTextReader::number() {
  std::uint64_t bits = 0;
  for (int shift = 0;; shift += 7) {
    SIMMESH_CHECK(!left_.empty() && shift < 64, "a text of a rank ends within a number");
    auto byte = std::uint8_t(left_.front());
    left_.remove_prefix(1);
    bits |= std::uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return std::int64_t(bits >> 1) ^ -std::int64_t(bits & 1);
}

std::string RankTextReader::text() {
  auto size = std::size_t(number());
  SIMMESH_CHECK(size <= left_.size(), "{} bytes of {} in a text of a rank", size, left_.size());
  std::string text(left_.substr(0, size));
  left_.remove_prefix(size);
  return text;
}

Dims RankTextReader::dims() {
  Dims dims(std::size_t(number()), 0);
  for (std::int64_t& size : dims) size = number();
  return dims;
}

Box RankTextReader::box() {
  Box box = {dims(), {}};
  for (std::size_t dim = 0; dim < box.offsets.size(); ++dim) box.sizes.push_back(number());
  return box;
}

}  // namespace simmesh::checkpoint
