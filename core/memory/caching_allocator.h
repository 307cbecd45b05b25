#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace simmesh {

// DeviceAddress is where a block lies in a simulated device; 0 stands for no memory of a device.
using DeviceAddress = std::uint64_t;

// StreamIndex numbers the streams of one device; 0 is the default stream, which computes.
using StreamIndex = std::uint32_t;

// MemoryPoolIndex numbers the pools of one device that are kept apart from one another; 0 is the
// one that everything comes from unless it says otherwise.
using MemoryPoolIndex = std::uint32_t;

// AllocatorFigures are the bytes of a caching allocator, now and at their highest. A block is
// active while it is allocated or waits for another stream to be through with it; reserved is what
// was taken from the device, in `segments` pieces.
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
  // How often cached segments were given back to the device because it was full.
  std::int64_t cache_flushes = 0;

  // fragmentation is what is reserved at the peaks and holds nothing.
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
// these are through with it. The host runs ahead as far as it can: it knows what it has
// synchronised with, and nothing more.
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
  // first waits for other streams and gives back what is cached; then it raises a RuntimeError that
  // says the figures.
  DeviceAddress allocate(std::int64_t bytes);
  // free gives back what allocate returned.
  void free(DeviceAddress address);

  // record_stream keeps a block, once it is freed, until the stream is through with what is
  // launched on it before the free.
  void record_stream(DeviceAddress address, StreamIndex stream);

  // The stream whose pools allocate takes from.
  void set_stream(StreamIndex stream) { stream_ = stream; }
  StreamIndex stream() const { return stream_; }

  // make_pool returns a new memory pool; set_pool lets allocate take from it.
  MemoryPoolIndex make_pool() { return ++last_pool_; }
  void set_pool(MemoryPoolIndex pool) { pool_ = pool; }
  MemoryPoolIndex pool() const { return pool_; }

  // launched says how many operations a stream has been given; completed, how many of them the host
  // knows to be complete.
  void launched(StreamIndex stream, std::uint64_t operations);
  void completed(StreamIndex stream, std::uint64_t operations);

  // flush gives all segments that hold nothing back to the device, as torch.cuda.empty_cache does.
  void flush();

  const AllocatorFigures& figures() const { return figures_; }

 private:
  struct Partial {
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
  // Free blocks by pool of small or large ones, memory pool, stream, size and address.
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
  std::vector<std::pair<DeviceAddress, std::vector<Partial>>> waiting_;
  std::vector<std::uint64_t> launched_, completed_;  // by stream
  AllocatorFigures figures_;
  DeviceAddress next_segment_ = DeviceAddress(1) << 32;
  StreamIndex stream_ = 0;
  MemoryPoolIndex pool_ = 0;
  MemoryPoolIndex last_pool_ = 0;
};

}  // namespace simmesh
