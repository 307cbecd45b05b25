#pragma once

#include <cstdint>
#include <vector>

namespace simmesh::checkpoint {

// CopyRange is a range of a buffer that is copied to the host.
struct CopyRange {
  std::size_t buffer = 0;
  std::int64_t begin = 0, end = 0;  // elements

  bool operator==(const CopyRange&) const = default;
};

// CopySchedule assigns the elements of ranges to the hooks of a training step, which copy them to
// the host beside the step's work. Each hook copies an equal number of elements, in the order of
// the ranges; a range is cut where a hook has enough. PaddleNLP's zero-cost checkpoints do the
// same.
//
//   checkpoint::CopySchedule schedule({{.buffer = 0, .begin = 0, .end = 100}},
//                                     {.hook_capacity = 4, .usage = 0.6});   // two chunks
//   while (!schedule.is_done()) schedule.next();
class CopySchedule {
 public:
  struct Options {
    // The hooks in a step, and the share of them that copies.
    std::int64_t hook_capacity = 1;
    double usage = 0.6;
  };

  // Raises a ValueError for a capacity below 1, a usage outside (0, 1], and a range that ends
  // before it begins.
  CopySchedule(std::vector<CopyRange> ranges, const Options& options);

  std::int64_t total_numel() const { return total_; }
  std::int64_t chunks() const { return chunks_; }
  // chunk_numel returns the most elements that one hook copies.
  std::int64_t chunk_numel() const { return chunk_numel_; }

  // is_done is true after the last element. begin starts again.
  bool is_done() const { return copied_ == total_; }
  void begin();
  // next returns the ranges that the next hook copies; none after the last element.
  std::vector<CopyRange> next();

 private:
  std::vector<CopyRange> ranges_;
  std::int64_t total_ = 0, chunks_ = 1, chunk_numel_ = 0;
  std::int64_t copied_ = 0;
  std::size_t range_ = 0;
  std::int64_t in_range_ = 0;  // elements of the current range that are done
};

}  // namespace simmesh::checkpoint
