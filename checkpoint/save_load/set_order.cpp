#include "checkpoint/save_load/set_order.h"

#include <optional>

namespace simmesh::checkpoint {

namespace {

// IntegerSet is the hash table of a set of CPython, whose integers are their own hashes.
class IntegerSet {
 public:
  void add(std::size_t number) {
    insert(number);
    ++used_;
    // It grows once three fifths are in use.
    if (used_ * 5 >= (slots_.size() - 1) * 3) grow();
  }

  std::vector<std::size_t> numbers() const {
    std::vector<std::size_t> result;
    for (const std::optional<std::size_t>& slot : slots_)
      if (slot) result.push_back(*slot);
    return result;
  }

 private:
  // Takes the first free slot of a run of ten, and then of runs at places that depend on the hash.
  void insert(std::size_t number) {
    constexpr std::size_t further_probes = 9, shift = 5;
    std::size_t mask = slots_.size() - 1, perturb = number;
    for (std::size_t at = number & mask;; at = (at * 5 + 1 + perturb) & mask) {
      std::size_t last = at + further_probes <= mask ? at + further_probes : at;
      for (std::size_t slot = at; slot <= last; ++slot)
        if (!slots_[slot]) {
          slots_[slot] = number;
          return;
        }
      perturb >>= shift;
    }
  }

  void grow() {
    constexpr std::size_t large = 50000;
    std::size_t least = used_ > large ? used_ * 2 : used_ * 4, size = slots_min;
    while (size <= least) size *= 2;
    std::vector<std::size_t> in_order = numbers();
    slots_.assign(size, std::nullopt);
    for (std::size_t number : in_order) insert(number);
  }

  static constexpr std::size_t slots_min = 8;
  std::vector<std::optional<std::size_t>> slots_ =
      std::vector<std::optional<std::size_t>>(slots_min);
  std::size_t used_ = 0;
};

}  // namespace

std::vector<std::size_t> set_order(const std::vector<std::size_t>& numbers) {
  IntegerSet set;
  for (std::size_t number : numbers) set.add(number);
  return set.numbers();
}

}  // namespace simmesh::checkpoint
