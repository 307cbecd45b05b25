#include "replay/read/byte_source.h"

#include <algorithm>

namespace simmesh::replay {

namespace {

constexpr std::size_t head_bytes = 4096;

}  // namespace

std::string_view ByteSource::head() {
  if (!head_.empty()) return head_;
  head_.resize(head_bytes);
  std::size_t count = 0;
  while (count < head_.size()) {
    std::size_t more = read_more(gsl::span<char>(head_).subspan(count));
    if (more == 0) break;
    count += more;
  }
  head_.resize(count);
  return head_;
}

std::size_t ByteSource::read(gsl::span<char> places) {
  if (head_taken_ == head_.size()) return read_more(places);
  std::size_t count = std::min(places.size(), head_.size() - head_taken_);
  std::copy_n(head_.data() + head_taken_, count, places.data());
  head_taken_ += count;
  return count;
}

std::size_t TextSource::read_more(gsl::span<char> places) {
  std::size_t count = std::min(places.size(), rest_.size());
  std::copy_n(rest_.data(), count, places.data());
  rest_.remove_prefix(count);
  return count;
}

}  // namespace simmesh::replay
