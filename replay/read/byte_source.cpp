#include "replay/read/byte_source.h"

#include <algorithm>

namespace simmesh::replay {

std::string_view ByteSource::head(std::size_t bytes) {
  std::size_t count = head_.size();
  if (count >= bytes) return std::string_view(head_).substr(0, bytes);
  head_.resize(bytes);
  while (count < bytes) {
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
