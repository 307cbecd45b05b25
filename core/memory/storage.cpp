#include "core/memory/storage.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/memory/data_mode.h"

namespace simmesh {

namespace {

// Ids of storages made outside any World have a rank number that no World has.
StorageId next_outside_id() {
  static std::atomic<StorageId> next{StorageId(0xFFFFFF) << 40};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Storage::Storage(Contents contents, BufferPtr buffer, std::size_t offset, std::size_t bytes,
                 Ledger* ledger)
    : buffer_(std::move(buffer)),
      offset_(offset),
      bytes_(bytes),
      ledger_(ledger && ledger->charges() ? ledger : nullptr),
      uncharged_in_(ledger && !ledger->charges() ? &ledger->memory() : nullptr),
      contents_(contents) {
  if (ledger_) {
    category_ = ledger_->category();
    charge();
  } else {
    id_ = next_outside_id();
    if (uncharged_in_) uncharged_in_->count_uncharged(1);
  }
}

PhysicalMemory* Storage::memory() const {
  return ledger_ ? &ledger_->memory() : uncharged_in_.get();
}

// Charges the ledger; nothing where the device is full. A storage that is charged again keeps its
// first id.
void Storage::charge() {
  address_ = ledger_->place(std::int64_t(bytes_));
  try {
    StorageId id = ledger_->charge(std::int64_t(bytes_));
    if (id_ == 0) id_ = id;
  } catch (...) {
    ledger_->unplace(address_);
    throw;
  }
}

void Storage::discharge() {
  if (uncharged_in_) uncharged_in_->count_uncharged(-1);
  if (!ledger_) return;
  ledger_->unplace(std::exchange(address_, 0));
  ledger_->release(std::int64_t(bytes_), category_);
}

StoragePtr Storage::make(std::size_t bytes) {
  if (DataMode::shapes_only()) return make_unbacked(bytes, true);
  Ledger* ledger = Ledger::active();
  BufferPtr buffer = Buffer::make(bytes, ledger ? &ledger->memory() : nullptr);
  return StoragePtr(new Storage(Contents::elements, std::move(buffer), 0, bytes, ledger));
}

StoragePtr Storage::share(BufferPtr buffer, std::size_t offset, std::size_t bytes) {
  if (DataMode::shapes_only()) return make_unbacked(bytes, true);
  // A view of no elements may begin anywhere.
  if (bytes == 0) offset = 0;
  SIMMESH_CHECK(offset + bytes <= buffer->bytes(), "bytes {}..{} of a buffer of {}", offset,
                offset + bytes, buffer->bytes());
  return StoragePtr(
      new Storage(Contents::elements, std::move(buffer), offset, bytes, Ledger::active()));
}

StoragePtr Storage::make_unbacked(std::size_t bytes, bool charged) {
  return StoragePtr(new Storage(charged ? Contents::shape : Contents::meta, nullptr, 0, bytes,
                                charged ? Ledger::active() : nullptr));
}

const BufferPtr& Storage::refuse() const {
  if (is_freed_)
    raise(ErrorKind::runtime_error, "memory/storage",
          "expected a tensor with data, got one whose storage of {} bytes was freed", bytes_);
  if (contents_ == Contents::shape)
    raise(ErrorKind::runtime_error, "memory/storage",
          "expected a tensor with data, got one of {} bytes that has none: of a world of shapes "
          "only, where no tensor has values, or of a rank that another process owns, whose values "
          "known_tensor tells, or not written yet",
          bytes_);
  raise(ErrorKind::runtime_error, "memory/storage",
        "expected a tensor with data, got one of the meta device, which has only a shape");
}

Storage::~Storage() {
  if (!is_freed_) discharge();
}

// The tape that goes may own this storage's saved tensors, so the storage lets go first.
void Storage::drop_lineages() const noexcept {
  LineagesPtr dropped = std::exchange(lineages_, nullptr);
}

void Storage::free() {
  if (is_freed_ || is_meta()) return;
  buffer_ = nullptr;
  offset_ = 0;
  is_freed_ = true;
  discharge();
}

void Storage::restore() {
  if (!is_freed_) return;
  if (has_elements()) buffer_ = Buffer::make(bytes_, memory());
  revive();
}

void Storage::revive() {
  if (uncharged_in_) uncharged_in_->count_uncharged(1);
  if (ledger_) {
    Ledger::Category category(category_);
    charge();
  }
  is_freed_ = false;
}

std::byte* Storage::mutable_data(const ByteRange& written) {
  ++changes_;
  if (buffer()->is_shared()) {
    BufferPtr own = Buffer::make(bytes_, memory());
    if (bytes_ > 0) std::memcpy(own->data(), data(), bytes_);
    if (buffer_->companion()) own->set_companion(buffer_->companion()->slice({offset_, bytes_}));
    buffer_ = std::move(own);
    offset_ = 0;
    if (ledger_) ledger_->count_copy_on_write();
  }
  if (buffer_->companion()) [[unlikely]]
    buffer_->set_companion(buffer_->companion()->without({offset_ + written.begin, written.count}));
  return buffer_->data() + offset_;
}

void Storage::adopt(BufferPtr buffer, std::size_t offset) {
  ++changes_;
  if (is_freed_) revive();
  if (bytes_ == 0 || DataMode::shapes_only()) return;
  SIMMESH_CHECK(offset + bytes_ <= buffer->bytes(), "bytes {}..{} of a buffer of {}", offset,
                offset + bytes_, buffer->bytes());
  buffer_ = std::move(buffer);
  offset_ = offset;
  contents_ = Contents::elements;
}

}  // namespace simmesh
