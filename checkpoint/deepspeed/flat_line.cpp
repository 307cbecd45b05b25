#include "checkpoint/deepspeed/flat_line.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh::checkpoint {

void FlatLine::add(const std::string& file, std::int64_t begin, std::int64_t count) {
  runs_.push_back({file, begin, count, count_});
  count_ += count;
}

void FlatLine::add_chunks(StoredTensor& tensor, FlatRange range, std::int64_t at) const {
  if (range.numel() <= 0) return;
  if (at > count_ || range.numel() > count_ - at)
    raise(ErrorKind::value_error, "checkpoint/deepspeed",
          "'{}': elements [{}, {}) of a flat group of {} elements", tensor.name, at,
          at + range.numel(), count_);
  std::int64_t width = bits_per_element(dtype_) / 8;
  auto run =
      std::upper_bound(runs_.begin(), runs_.end(), at,
                       [](std::int64_t place, const Run& next) { return place < next.first; });
  for (--run; range.begin < range.end; ++run) {
    std::int64_t skipped = at - run->first;
    std::int64_t taken = std::min(run->count - skipped, range.numel());
    std::int64_t begin = run->begin + skipped * width;
    for (Box& box : boxes_of_range(tensor.shape, {range.begin, range.begin + taken})) {
      std::int64_t bytes = box.numel() * width;
      tensor.chunks.push_back(
          {.box = std::move(box), .file = run->file, .begin = begin, .bytes = bytes});
      begin += bytes;
    }
    range.begin += taken;
    at += taken;
  }
}

}  // namespace simmesh::checkpoint
