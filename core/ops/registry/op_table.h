#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/check/check.h"
#include "core/ops/registry/registry.h"

namespace simmesh {

// OfOp is what a layer above core/ops knows of the op of that name.
template <class Value>
struct OfOp {
  std::string_view op;
  Value value;
};

// OpTable holds what a layer above core/ops knows of the library's ops, such as their gradients.
// Each file of that layer lists the ops of one family by their names; the table, which names these
// files, joins the lists with the registry. A name that is no op, or that comes twice, breaks a
// contract.
//
//   static const OpTable<Gradient> table({product_gradients(), view_gradients()});
//   const Gradient* gradient = table.find(*find_op("mm"));
template <class Value>
class OpTable {
 public:
  // The lists must outlive the table.
  using Family = gsl::span<const OfOp<Value>>;
  explicit OpTable(std::initializer_list<Family> families) {
    std::size_t count = 0;
    for (const Family& family : families) count += family.size();
    entries_.resize(std::bit_ceil(2 * count + 1));
    for (const Family& family : families)
      for (const OfOp<Value>& entry : family) {
        const Op* op = find_op(entry.op);
        SIMMESH_CHECK(op, "a table of ops names {}, which is no op", entry.op);
        Entry& place = entries_[place_of(*op)];
        SIMMESH_CHECK(!place.op, "a table of ops names {} twice", op->name);
        place = {op, &entry.value};
      }
  }

  // find returns what is known of an op, null where nothing is. Each call of an op asks.
  const Value* find(const Op& op) const { return entries_[place_of(op)].value; }

 private:
  struct Entry {
    const Op* op = nullptr;
    const Value* value = nullptr;
  };

  // Where an op stands, or would: the first place from its hash on that no other op has. More than
  // half of the places are free.
  std::size_t place_of(const Op& op) const {
    std::size_t mask = entries_.size() - 1;
    std::size_t place = reinterpret_cast<std::uintptr_t>(&op) * 0x9E3779B97F4A7C15u >> 32;
    while (entries_[place & mask].op && entries_[place & mask].op != &op) ++place;
    return place & mask;
  }

  std::vector<Entry> entries_;
};

}  // namespace simmesh
