#pragma once

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "replay/read/byte_source.h"

namespace simmesh::replay {

// ReadAhead returns the bytes of another source, which a thread of its own reads, so that unpacking
// runs beside parsing. Nobody else may use the other source meanwhile. At most `blocks` blocks are
// ahead. An exception of the other source is raised by the read that reaches it.
//
//   replay::TextSource packed("trace", "{}");
//   replay::ReadAhead ahead(packed);
//   std::array<char, 16> places;
//   ahead.read(places);  // 2
class ReadAhead : public ByteSource {
 public:
  explicit ReadAhead(ByteSource& source);
  ~ReadAhead() override;

 protected:
  std::size_t read_more(gsl::span<char> places) override;

 private:
  static constexpr std::size_t blocks = 4;
  static constexpr std::size_t block_bytes = 1 << 18;

  struct Block {
    std::vector<char> bytes;
    std::size_t count = 0;
  };

  void fill_blocks();

  ByteSource& source_;
  std::array<Block, blocks> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Blocks that were filled and emptied; the ring holds the difference.
  std::size_t filled_ = 0;
  std::size_t emptied_ = 0;
  bool has_ended_ = false;   // no block follows the filled ones
  bool is_stopped_ = false;  // nobody reads any more
  std::exception_ptr error_;
  std::size_t taken_ = 0;  // bytes of the block that is being emptied
  std::thread thread_;     // last, because it uses all the others
};

}  // namespace simmesh::replay
