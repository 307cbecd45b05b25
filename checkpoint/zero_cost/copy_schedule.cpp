#include "checkpoint/zero_cost/copy_schedule.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh::checkpoint {

CopySchedule::CopySchedule(std::vector<CopyRange> ranges, const Options& options)
    : ranges_(std::move(ranges)) {
  if (options.hook_capacity < 1)
    raise(ErrorKind::value_error, "checkpoint/zero_cost", "expected at least one hook, got {}",
          options.hook_capacity);
  if (!(options.usage > 0 && options.usage <= 1))
    raise(ErrorKind::value_error, "checkpoint/zero_cost", "expected a usage within (0, 1], got {}",
          options.usage);
  for (const CopyRange& range : ranges_) {
    if (range.begin > range.end)
      raise(ErrorKind::value_error, "checkpoint/zero_cost",
            "expected ranges that don't end before they begin, got [{}, {})", range.begin,
            range.end);
    total_ += range.end - range.begin;
  }
  chunks_ = std::max(std::int64_t(double(options.hook_capacity) * options.usage), std::int64_t{1});
  chunk_numel_ = (total_ + chunks_ - 1) / chunks_;
}

void CopySchedule::begin() {
  copied_ = 0;
  range_ = 0;
  in_range_ = 0;
}

std::vector<CopyRange> CopySchedule::next() {
  std::vector<CopyRange> copies;
  std::int64_t left = std::min(chunk_numel_, total_ - copied_);
  copied_ += left;
  while (left > 0) {
    const CopyRange& range = ranges_[range_];
    std::int64_t begin = range.begin + in_range_;
    std::int64_t count = std::min(left, range.end - begin);
    if (count > 0) copies.push_back({range.buffer, begin, begin + count});
    left -= count;
    in_range_ += count;
    if (begin + count == range.end) {
      ++range_;
      in_range_ = 0;
    }
  }
  return copies;
}

}  // namespace simmesh::checkpoint
