#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace simmesh {

// DeviceAddress is the place of a block in a simulated device; 0 stands for no memory of a device.
using DeviceAddress = std::uint64_t;

// StreamIndex numbers the streams of one device; 0 is the default stream, which computes.
using StreamIndex = std::uint32_t;

// MemoryPoolIndex numbers the pools of one device, which are kept apart from one another; 0 is the
// default pool.
using MemoryPoolIndex = std::uint32_t;

// AllocatorFigures are the bytes of a caching allocator, now and at their peak. A block is active
// while it is allocated, or while another stream still uses it; reserved bytes were taken from the
// device, in `segments` pieces.
struct AllocatorFigures {
  struct Bytes {
    std::int64_t current = 0;
    std::int64_t peak = 0;

    bool operator==(const Bytes&) const = default;
  };
  Bytes allocated;
  Bytes active;
  Bytes reserved;
  std::int64_t segments = 0;
  // Number of times that cached segments were given back to the device because it was full.
  std::int64_t cache_flushes = 0;

  // fragmentation is the peak of the reserved bytes less the peak of the active ones.
  std::int64_t fragmentation_bytes() const { return reserved.peak - active.peak; }

  bool operator==(const AllocatorFigures&) const = default;
};

// CachingAllocator is a model of PyTorch's CUDACachingAllocator. Sizes are rounded to 512 bytes.
// Requests up to 1 MiB come from segments of 2 MiB, those below 10 MiB from segments of 20 MiB,
// larger ones get a segment of their own, rounded to 2 MiB. Each stream has its own pools: a freed
// block goes back to the stream that it was allocated on, and the best fitting one is split. A
// memory pool (torch.cuda.MemPool) has segments of its own in the same way.
//
// A block that other streams use too, by record_stream, is given back only when the host knows that
// these have finished with it. The host runs ahead as far as it can: it knows only what it has
// synchronised with.
//
//   CachingAllocator allocator({.capacity_bytes = 80 << 30});
//   DeviceAddress block = allocator.allocate(4096);
//   allocator.free(block);
class CachingAllocator {
 public:
  struct Options {
    std::int64_t capacity_bytes = 0;  // 0 for no limit
  };

  explicit CachingAllocator(Options options) : options_(options) {}

  // allocate returns a block of the current stream; 0 for no bytes. Where the device is full it
  // first waits for other streams and gives cached segments back; if that isn't enough, it raises a
  // RuntimeError with the figures.
  DeviceAddress allocate(std::int64_t bytes);
  // free takes back a block that allocate returned.
  void free(DeviceAddress address);

  // record_stream keeps a block, once it is freed, until the stream has finished everything that
  // was launched on it before the free.
  void record_stream(DeviceAddress address, StreamIndex stream);

  // The stream from whose pools allocate takes blocks.
  void set_stream(StreamIndex stream) { stream_ = stream; }
  StreamIndex stream() const { return stream_; }

  // make_pool returns a new memory pool; set_pool makes allocate take from it.
  MemoryPoolIndex make_pool() { return ++last_pool_; }
  void set_pool(MemoryPoolIndex pool) { pool_ = pool; }
  MemoryPoolIndex pool() const { return pool_; }

  // launched notes how many operations a stream has been given; completed, how many of them the
  // host knows to be complete.
  void launched(StreamIndex stream, std::uint64_t operations);
  void completed(StreamIndex stream, std::uint64_t operations);

  // flush gives all empty segments back to the device, as torch.cuda.empty_cache does.
  void flush();

  const AllocatorFigures& figures() const { return figures_; }

 private:
  struct PendingUse {
    StreamIndex stream;
    std::uint64_t operations;
  };
  struct Block {
    std::int64_t bytes;
    std::int64_t requested;
    DeviceAddress segment;  // where its segment begins
    StreamIndex stream;
    MemoryPoolIndex pool;
    bool is_small;
    bool is_free = false;
    std::vector<StreamIndex> users;  // other streams, from record_stream
  };
  using Blocks = std::map<DeviceAddress, Block>;
  // Free blocks, ordered by size class (small or large), memory pool, stream, size and address.
  using FreeKey = std::tuple<bool, MemoryPoolIndex, StreamIndex, std::int64_t, DeviceAddress>;

  static FreeKey key_of(const Blocks::value_type& entry);
  Blocks::iterator find_free(std::int64_t bytes, bool is_small);
  Blocks::iterator new_segment(std::int64_t bytes, bool is_small);
  void split(Blocks::iterator block, std::int64_t bytes);
  void give_back(Blocks::iterator block);
  Blocks::iterator merge(Blocks::iterator block);
  bool is_whole_segment(Blocks::iterator block) const;
  bool fits(std::int64_t segment_bytes) const;
  void return_completed(bool all);
  [[noreturn]] void refuse(std::int64_t bytes) const;

  Options options_;
  Blocks blocks_;
  std::set<FreeKey> free_;
  std::vector<std::pair<DeviceAddress, std::vector<PendingUse>>> waiting_;
  std::vector<std::uint64_t> launched_, completed_;  // by stream
  AllocatorFigures figures_;
  DeviceAddress next_segment_ = DeviceAddress(1) << 32;
  StreamIndex stream_ = 0;
  MemoryPoolIndex pool_ = 0;
  MemoryPoolIndex last_pool_ = 0;
};

}  // namespace simmesh
