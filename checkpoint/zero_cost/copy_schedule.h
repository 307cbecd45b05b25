#pragma once

#include <cstdint>
#include <vector>

namespace simmesh::checkpoint {

// CopyRange is a part of a buffer that is copied to the host.
struct CopyRange {
  std::size_t buffer = 0;
  std::int64_t begin = 0, end = 0;  // elements

  bool operator==(const CopyRange&) const = default;
};

// CopySchedule says which elements each hook of a training step copies to the host, so that a
// checkpoint costs no time of its own: an equal number of elements a hook, in the order of the
// ranges, which are cut where a hook has enough. As in PaddleNLP's zero-cost checkpoints.
//
//   CopySchedule schedule(ranges, {.hook_capacity = 4, .usage = 0.6});   // two chunks
//   while (!schedule.is_done())
//     for (const CopyRange& part : schedule.next()) fmt::print("{} {}\n", part.begin, part.end);
class CopySchedule {
 public:
  struct Options {
    // Hooks in a step, and the share of them that copies.
    std::int64_t hook_capacity = 1;
    double usage = 0.6;
  };

  // Raises a ValueError for a capacity below 1, a usage outside (0, 1], and a range that ends
  // before it begins.
  CopySchedule(std::vector<CopyRange> ranges, const Options& options);

  std::int64_t total_numel() const { return total_; }
  std::int64_t chunks() const { return chunks_; }
  // chunk_numel is the most that one hook copies.
  std::int64_t chunk_numel() const { return chunk_numel_; }

  // is_done says whether the last element was handed out; begin starts a new round.
  bool is_done() const { return copied_ == total_; }
  void begin();
  // next returns what the next hook copies; nothing once all is done.
  std::vector<CopyRange> next();

 private:
  std::vector<CopyRange> ranges_;
  std::int64_t total_ = 0, chunks_ = 1, chunk_numel_ = 0;
  std::int64_t copied_ = 0;
  std::size_t range_ = 0;
  std::int64_t in_range_ = 0;  // copied of the range
};

}  // namespace simmesh::checkpoint
