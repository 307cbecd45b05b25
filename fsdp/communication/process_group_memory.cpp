#include "fsdp/communication/process_group_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace simmesh::fsdp {

namespace {

struct GroupPools {
  std::vector<std::pair<const Group*, MemoryPoolIndex>> of_group;
};

MemoryPoolIndex pool_of(const ProcessGroup& group, CachingAllocator& allocator) {
  auto& pools = group.owner().state<GroupPools>().of_group;
  auto known = std::find_if(pools.begin(), pools.end(),
                            [&](const auto& entry) { return entry.first == &group.group(); });
  if (known != pools.end()) return known->second;
  pools.emplace_back(&group.group(), allocator.make_pool());
  return pools.back().second;
}

// PoolScope makes storages that are made in its scope come from a group's pool.
class PoolScope {
 public:
  explicit PoolScope(const ProcessGroup& group)
      : allocator_(Ledger::active() ? Ledger::active()->allocator() : nullptr) {
    if (!allocator_) return;
    before_ = allocator_->pool();
    allocator_->set_pool(pool_of(group, *allocator_));
  }
  ~PoolScope() {
    if (allocator_) allocator_->set_pool(before_);
  }
  PoolScope(const PoolScope&) = delete;
  PoolScope& operator=(const PoolScope&) = delete;

 private:
  CachingAllocator* allocator_;
  MemoryPoolIndex before_ = 0;
};

}  // namespace

CommAllocate process_group_memory(const ProcessGroup& group) {
  return [group](const Shape& shape, DType dtype) {
    PoolScope scope(group);
    return empty(DimSpan(shape), dtype);
  };
}

}  // namespace simmesh::fsdp
