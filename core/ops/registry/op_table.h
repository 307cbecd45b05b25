#pragma once

#include <algorithm>
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
//   gsl::span<const OfOp<Gradient>> product_gradients();   // in a file of its own
//
//   static const OpTable<Gradient> table({product_gradients(), view_gradients()});
//   const Gradient* gradient = table.find(*find_op("mm"));
template <class Value>
class OpTable {
 public:
  // The lists must outlive the table.
  using Family = gsl::span<const OfOp<Value>>;
  explicit OpTable(std::initializer_list<Family> families) {
    for (const Family& family : families)
      for (const OfOp<Value>& entry : family) {
        const Op* op = find_op(entry.op);
        SIMMESH_CHECK(op, "a table of ops names {}, which is no op", entry.op);
        entries_.push_back({op, &entry.value});
      }
    std::sort(entries_.begin(), entries_.end(), comes_before);
    for (std::size_t i = 1; i < entries_.size(); ++i)
      SIMMESH_CHECK(entries_[i - 1].op != entries_[i].op, "a table of ops names {} twice",
                    entries_[i].op->name);
  }

  // find returns what is known of an op, null where nothing is.
  const Value* find(const Op& op) const {
    auto found =
        std::lower_bound(entries_.begin(), entries_.end(), Entry{&op, nullptr}, comes_before);
    return found != entries_.end() && found->op == &op ? found->value : nullptr;
  }

 private:
  struct Entry {
    const Op* op;
    const Value* value;
  };
  static bool comes_before(const Entry& a, const Entry& b) {
    return std::less<const Op*>()(a.op, b.op);
  }

  std::vector<Entry> entries_;
};

}  // namespace simmesh
