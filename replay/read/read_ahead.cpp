#include "replay/read/read_ahead.h"

#include <algorithm>

#include "core/check/start_threads.h"

namespace simmesh::replay {

ReadAhead::ReadAhead(ByteSource& source) : ByteSource(source.name()), source_(source) {
  thread_ = start_thread("replay/read", [this] { fill_blocks(); });
}

ReadAhead::~ReadAhead() {
  {
    std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::fill_blocks() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_stopped_ || filled_ - emptied_ < blocks; });
    if (is_stopped_) return;
    Block& block = ring_[filled_ % blocks];
    lock.unlock();
    std::exception_ptr error;
    block.count = 0;
    try {
      block.bytes.resize(block_bytes);
      while (block.count < block_bytes) {
        std::size_t more = source_.read(gsl::span<char>(block.bytes).subspan(block.count));
        if (more == 0) break;
        block.count += more;
      }
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    bool is_last = error || block.count < block_bytes;
    if (block.count > 0) ++filled_;
    error_ = error;
    has_ended_ = is_last;
    lock.unlock();
    changed_.notify_all();
    if (is_last) return;
  }
}

std::size_t ReadAhead::read_more(gsl::span<char> places) {
  if (places.empty()) return 0;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_ended_ || filled_ > emptied_; });
  if (filled_ == emptied_) {
    if (error_) std::rethrow_exception(error_);
    return 0;
  }
  const Block& block = ring_[emptied_ % blocks];
  lock.unlock();
  std::size_t count = std::min(places.size(), block.count - taken_);
  std::copy_n(block.bytes.data() + taken_, count, places.data());
  taken_ += count;
  if (taken_ < block.count) return count;
  taken_ = 0;
  lock.lock();
  ++emptied_;
  lock.unlock();
  changed_.notify_all();
  return count;
}

}  // namespace simmesh::replay
