#pragma once

#include <cstdint>
#include <gsl/span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check/check.h"
#include "core/ops/registry/registry.h"

namespace simmesh {

// OfOp is a fact that a layer above core/ops has about the op of that name.
template <class Value>
struct OfOp {
  std::string_view op;
  Value value;
};

// OpTable has such facts about the library's ops, for instance their gradients.
// Each file of that layer adds the ops of one family by their names.
//
//   static const OfOp<int> costs[] = {{"mm", 3}, {"bmm", 4}};
//   OpTable<int> table;
//   table.add(costs);
//   const int* cost = table.find(*find_op("mm"));
template <class Value>
class OpTable {
 public:
  using Family = gsl::span<const OfOp<Value>>;

  // add adds a family, which must outlive the table. A name that is no op, or that was added
  // before, breaks a contract.
  void add(Family family) {
    for (const OfOp<Value>& entry : family) {
      const Op* op = find_op(entry.op);
      SIMMESH_CHECK(op, "a table of ops names {}, which is no op", entry.op);
      SIMMESH_CHECK(!find(*op), "a table of ops names {} twice", op->name);
      if (2 * ++count_ > entries_.size()) grow();
      entries_[place_of(*op)] = {op, &entry.value};
    }
  }

  // find returns the fact about an op, null where there is none. Each call of an op asks.
  const Value* find(const Op& op) const { return entries_[place_of(op)].value; }

 private:
  struct Entry {
    const Op* op = nullptr;
    const Value* value = nullptr;
  };

  // Returns where an op is, or would be: the first place from its hash on that no other op has. At
  // least half of the places are free.
  std::size_t place_of(const Op& op) const {
    std::size_t mask = entries_.size() - 1;
    std::size_t place = reinterpret_cast<std::uintptr_t>(&op) * 0x9E3779B97F4A7C15u >> 32;
    while (entries_[place & mask].op && entries_[place & mask].op != &op) ++place;
    return place & mask;
  }

  void grow() {
    std::vector<Entry> before = std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
    for (const Entry& entry : before)
      if (entry.op) entries_[place_of(*entry.op)] = entry;
  }

  std::size_t count_ = 0;
  std::vector<Entry> entries_ = std::vector<Entry>(2);  // a power of two
};

}  // namespace simmesh
