#include "core/memory/ledger.h"

#include <algorithm>

#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh {

namespace {
void add(Ledger::Bytes& bytes, std::int64_t amount) {
  bytes.current += amount;
  bytes.peak = std::max(bytes.peak, bytes.current);
}
}  // namespace

std::string_view to_string(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::other: return "other";
    case MemoryCategory::parameter: return "parameter";
    case MemoryCategory::gradient: return "gradient";
    case MemoryCategory::optimizer_state: return "optimizer_state";
    case MemoryCategory::activation: return "activation";
    case MemoryCategory::communication: return "communication";
  }
  SIMMESH_CHECK(false, "unknown MemoryCategory {}", static_cast<int>(category));
}

Ledger::Ledger(std::uint32_t owner, boost::intrusive_ptr<PhysicalMemory> memory)
    : memory_(std::move(memory)), owner_(owner) {}

StorageId Ledger::charge(std::int64_t bytes) {
  ++allocations_;
  if (allocations_ == failing_allocation_)
    raise(ErrorKind::runtime_error, "memory/ledger",
          "rank {}: allocation {} of {} bytes failed (injected); {} bytes in {} storages are live",
          owner_, allocations_, bytes, total_.current, live_storages_);
  add(total_, bytes);
  add(by_category_[std::size_t(category_)], bytes);
  ++live_storages_;
  return (StorageId(owner_) << 40) | allocations_;
}

void Ledger::model_allocator(CachingAllocator::Options options) {
  allocator_ = std::make_unique<CachingAllocator>(options);
}

void Ledger::release(std::int64_t bytes, MemoryCategory category) {
  total_.current -= bytes;
  by_category_[std::size_t(category)].current -= bytes;
  --live_storages_;
}

Ledger::Category::Category(MemoryCategory category) : ledger_(active()) {
  if (!ledger_) return;
  before_ = ledger_->category_;
  ledger_->category_ = category;
}

Ledger::Category::~Category() {
  if (ledger_) ledger_->category_ = before_;
}

}  // namespace simmesh
