#include <atomic>
#include <cstring>

#include <simmesh/core/check/check.h>
#include <simmesh/core/check/error.h>
#include <simmesh/core/memory/storage.h>

namespace simmesh {

namespace {

// Ids of storages made outside any World carry a rank that no World has.
StorageId next_outside_id() {
  static std::atomic<StorageId> next{StorageId(0xFFFFFF) << 40};
  return next.fetch_add(1, std::memory_order_relaxed);
}

StorageId charge(Ledger* ledger, std::size_t bytes) {
  return ledger ? ledger->charge(std::int64_t(bytes)) : next_outside_id();
}

}  // namespace

Storage::Storage(BufferPtr buffer, std::size_t offset, std::size_t bytes, Ledger* ledger,
                 StorageId id)
    : buffer_(std::move(buffer)), offset_(offset), bytes_(bytes), ledger_(ledger), id_(id) {
  if (ledger_) category_ = ledger_->category();
}

StoragePtr Storage::make(std::size_t bytes) {
  Ledger* ledger = Ledger::active();
  BufferPtr buffer = Buffer::make(bytes, ledger ? &ledger->memory() : nullptr);
  return share(std::move(buffer), 0, bytes);
}

StoragePtr Storage::share(BufferPtr buffer, std::size_t offset, std::size_t bytes) {
  // A view of no elements may begin anywhere.
  if (bytes == 0) offset = 0;
  SIMMESH_CHECK(offset + bytes <= buffer->bytes(), "bytes {}..{} of a buffer of {}", offset,
                offset + bytes, buffer->bytes());
  Ledger* ledger = Ledger::active();
  StorageId id = charge(ledger, bytes);
  return StoragePtr(new Storage(std::move(buffer), offset, bytes, ledger, id));
}

StoragePtr Storage::make_unbacked(std::size_t bytes, bool charged) {
  Ledger* ledger = charged ? Ledger::active() : nullptr;
  StorageId id = charge(ledger, bytes);
  return StoragePtr(new Storage(nullptr, 0, bytes, ledger, id));
}

const BufferPtr& Storage::refuse() const {
  if (is_freed_)
    raise(ErrorKind::runtime_error, "memory/storage",
          "expected a tensor with data, got one whose storage of {} bytes was freed", bytes_);
  raise(ErrorKind::runtime_error, "memory/storage",
        "expected a tensor with data, got one of the meta device, which has only a shape");
}

Storage::~Storage() {
  if (ledger_ && !is_freed_) ledger_->release(std::int64_t(bytes_), category_);
}

void Storage::free() {
  if (!buffer_) return;
  buffer_ = nullptr;
  offset_ = 0;
  is_freed_ = true;
  if (ledger_) ledger_->release(std::int64_t(bytes_), category_);
}

void Storage::restore() {
  if (!is_freed_) return;
  buffer_ = Buffer::make(bytes_, ledger_ ? &ledger_->memory() : nullptr);
  if (ledger_) {
    Ledger::Category category(category_);
    ledger_->charge(std::int64_t(bytes_));
  }
  is_freed_ = false;
}

std::byte* Storage::mutable_data() {
  if (buffer()->is_shared()) {
    BufferPtr own = Buffer::make(bytes_, ledger_ ? &ledger_->memory() : nullptr);
    if (bytes_ > 0) std::memcpy(own->data(), data(), bytes_);
    buffer_ = std::move(own);
    offset_ = 0;
    if (ledger_) ledger_->count_copy_on_write();
  }
  return buffer_->data() + offset_;
}

void Storage::adopt(BufferPtr buffer, std::size_t offset) {
  if (bytes_ == 0) return;
  SIMMESH_CHECK(offset + bytes_ <= buffer->bytes(), "bytes {}..{} of a buffer of {}", offset,
                offset + bytes_, buffer->bytes());
  buffer_ = std::move(buffer);
  offset_ = offset;
}

}  // namespace simmesh
