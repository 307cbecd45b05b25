#include "core/arithmetic/companions/exact_record.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "core/arithmetic/companions/exact_content.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

// Returns the place of each element, in elements from the storage's begin on.
std::vector<std::int64_t> storage_places(const ElementsOfStorage& elements) {
  std::int64_t size = elements.array.element_bytes();
  if (elements.offset < 0 || elements.offset % size != 0)
    raise(ErrorKind::value_error, "companions/record",
          "expected elements at a multiple of {} bytes, got an offset of {}", size,
          elements.offset);
  std::vector<std::int64_t> places = places_of(elements.array);
  std::int64_t first = elements.offset / size;
  if (first != 0)
    for (std::int64_t& place : places) place += first;
  return places;
}

bool is_same_element(const std::byte* a, const std::byte* b, std::int64_t size) {
  switch (size) {  // copies of a known size are instructions
    case 2: return std::memcmp(a, b, 2) == 0;
    case 4: return std::memcmp(a, b, 4) == 0;
    default: return std::memcmp(a, b, 8) == 0;
  }
}

// True if values are those of an array in their order.
bool are_all_in_order(const std::vector<std::int64_t>& places, std::int64_t count) {
  if (std::int64_t(places.size()) != count) return false;
  for (std::int64_t i = 0; i < count; ++i)
    if (places[std::size_t(i)] != i) return false;
  return true;
}

// True if any value is negative or -0.
bool has_sign(const ExactValues& values) {
  const std::vector<double>& high = values.content().high;
  return std::any_of(high.begin(), high.end(), [](double x) { return std::signbit(x); });
}

// Found are the values of one block that stand behind elements: those at the places, behind the
// elements of these indices.
struct Found {
  std::vector<std::int64_t> elements, places;
};

// Puts found values in place of elements.
ExactValues combined(const ExactValues& elements, const std::vector<ExactValues>& parts,
                     const std::vector<std::vector<std::int64_t>>& indices) {
  std::vector<ExactValues> all{elements};
  std::vector<std::int64_t> from(std::size_t(elements.count()));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::int64_t(i);
  std::int64_t first = elements.count();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (std::size_t k = 0; k < indices[part].size(); ++k)
      from[std::size_t(indices[part][k])] = first + std::int64_t(k);
    first += parts[part].count();
    all.push_back(parts[part]);
  }
  return ExactValues::joined(all).taken(from);
}

}  // namespace

RoundedValues RoundedValues::of(const ElementArray& array, const ExactValues& values) {
  if (values.count() != array.count())
    raise(ErrorKind::value_error, "companions/record", "expected {} elements, got {}",
          values.count(), array.count());
  RoundedValues rounded{.bytes = values.round(array.dtype)};
  rounded.are_elements = values.are_elements(array.dtype, rounded.bytes.data());
  rounded.whole_count = std::count(rounded.are_elements.begin(), rounded.are_elements.end(), 1);
  return rounded;
}

RoundedValues RoundedValues::written(const ElementArray& array, const ExactValues& values) {
  RoundedValues rounded = of(array, values);
  write_row_major(array, rounded.bytes.data());
  return rounded;
}

const ExactRecord::Table* ExactRecord::find_table(std::int64_t element_bytes) const {
  for (const Table& table : tables_)
    if (table.element_bytes == element_bytes) return &table;
  return nullptr;
}

ExactRecord::Table& ExactRecord::table_for(std::int64_t element_bytes) {
  for (Table& table : tables_)
    if (table.element_bytes == element_bytes) return table;
  tables_.push_back({.element_bytes = element_bytes});
  return tables_.back();
}

void ExactRecord::clear(Slot& slot) {
  if (slot.block == 0) return;
  Block& block = blocks_[slot.block - 1];
  if (--block.used == 0) {
    block.values = ExactValues();
    free_blocks_.push_back(slot.block);
  }
  slot = {};
}

std::uint32_t ExactRecord::add_block(const ExactValues& values) {
  if (free_blocks_.empty()) {
    blocks_.push_back({});
    free_blocks_.push_back(std::uint32_t(blocks_.size()));
  }
  std::uint32_t number = free_blocks_.back();
  free_blocks_.pop_back();
  blocks_[number - 1] = {.values = values};
  return number;
}

// Ends what stands behind elements of other sizes that share bytes with these.
void ExactRecord::clear_others(const ElementsOfStorage& elements, std::int64_t element_bytes) {
  for (Table& table : tables_) {
    if (table.element_bytes == element_bytes) continue;
    for (std::int64_t place : storage_places(elements)) {
      std::int64_t begin = place * element_bytes, end = begin + element_bytes;
      std::int64_t first = begin / table.element_bytes;
      std::int64_t last = (end - 1) / table.element_bytes;
      for (std::int64_t i = first; i <= last && i < std::int64_t(table.slots.size()); ++i)
        clear(table.slots[std::size_t(i)]);
    }
  }
}

// Returns values that were written together and lie one after the other, as most do; nullopt for
// others.
std::optional<ExactValues> ExactRecord::read_run(const Table& table,
                                                 const ElementsOfStorage& elements) const {
  std::int64_t size = table.element_bytes, count = elements.array.count();
  if (!is_row_major(elements.array) || elements.offset % size != 0) return std::nullopt;
  std::int64_t first = elements.offset / size;
  if (first + count > std::int64_t(table.slots.size())) return std::nullopt;
  const Slot *slots = table.slots.data() + first, begin = slots[0];
  if (begin.block == 0) return std::nullopt;
  std::uint32_t others = 0;
  for (std::int64_t i = 0; i < count; ++i)
    others |= (slots[i].block ^ begin.block) | (slots[i].place ^ (begin.place + std::uint32_t(i)));
  bool is_same = others == 0 && std::memcmp(table.bits.data() + elements.offset,
                                            elements.array.data, std::size_t(count * size)) == 0;
  if (!is_same) return std::nullopt;
  const ExactValues& values = blocks_[begin.block - 1].values;
  if (begin.place == 0 && values.count() == count) return values;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < count; ++i) places.push_back(std::int64_t(begin.place) + i);
  return values.taken(places);
}

std::optional<ExactValues> ExactRecord::read(const ElementsOfStorage& elements) const {
  std::lock_guard lock(mutex_);
  std::int64_t size = elements.array.element_bytes();
  const Table* table = find_table(size);
  if (!table || elements.array.count() == 0) return std::nullopt;
  if (std::optional<ExactValues> values = read_run(*table, elements)) return values;
  std::vector<std::int64_t> places = storage_places(elements);
  const std::byte* begin = elements.array.data - elements.offset;
  std::map<std::uint32_t, Found> found;
  std::uint32_t latest = 0;
  Found* into = nullptr;
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto place = std::size_t(places[i]);
    if (place >= table->slots.size()) continue;
    Slot slot = table->slots[place];
    if (slot.block == 0) continue;
    std::int64_t at = places[i] * size;
    if (!is_same_element(table->bits.data() + at, begin + at, size)) continue;
    if (slot.block != latest) {
      latest = slot.block;
      into = &found[latest];
    }
    into->elements.push_back(std::int64_t(i));
    into->places.push_back(slot.place);
  }
  if (found.empty()) return std::nullopt;
  if (found.size() == 1 && into->elements.size() == places.size()) {
    const ExactValues& values = blocks_[latest - 1].values;
    if (are_all_in_order(into->places, values.count())) return values;
    return values.taken(into->places);
  }
  ExactValues own = ExactValues::of(elements.array);
  bool has_others = has_sign(own);
  for (const auto& [block, at] : found)
    has_others = has_others || !blocks_[block - 1].values.is_root();
  std::vector<ExactValues> parts;
  std::vector<std::vector<std::int64_t>> indices;
  for (const auto& [block, at] : found) {
    const ExactValues& values = blocks_[block - 1].values;
    if (has_others && values.is_root()) continue;
    parts.push_back(values.taken(at.places));
    indices.push_back(at.elements);
  }
  if (parts.empty()) return std::nullopt;
  return combined(own, parts, indices);
}

// Ends what stands behind `count` elements from the first on.
void ExactRecord::clear_range(Table& table, std::int64_t first, std::int64_t count) {
  std::int64_t end = std::min(first + count, std::int64_t(table.slots.size()));
  for (std::int64_t i = first; i < end;) {
    std::uint32_t block = table.slots[std::size_t(i)].block;
    std::int64_t run = i;
    while (run < end && table.slots[std::size_t(run)].block == block) ++run;
    if (block != 0) {
      blocks_[block - 1].used -= run - i - 1;
      clear(table.slots[std::size_t(i)]);
      std::fill(table.slots.begin() + i, table.slots.begin() + run, Slot());
    }
    i = run;
  }
}

void ExactRecord::make_room(Table& table, std::int64_t end) {
  if (end <= std::int64_t(table.slots.size())) return;
  std::int64_t all = std::max(end, storage_bytes_ / table.element_bytes);
  table.slots.resize(std::size_t(all));
  table.bits.resize(std::size_t(all * table.element_bytes));
}

// Puts values behind elements that lie one after the other.
void ExactRecord::set_run(Table& table, std::int64_t first, const ExactValues& values,
                          const std::byte* rounded) {
  std::int64_t count = values.count();
  clear_range(table, first, count);
  make_room(table, first + count);
  std::uint32_t block = add_block(values);
  blocks_[block - 1].used = count;
  Slot* slots = table.slots.data() + first;
  for (std::int64_t i = 0; i < count; ++i) slots[i] = {block, std::uint32_t(i)};
  std::memcpy(table.bits.data() + first * table.element_bytes, rounded,
              std::size_t(count * table.element_bytes));
}

// Where more than a few values are more than their elements, all are kept, so that they are read
// together.
void ExactRecord::keep(const ElementsOfStorage& elements, const ExactValues& values,
                       const RoundedValues& rounded_values) {
  std::lock_guard lock(mutex_);
  const ElementArray& array = elements.array;
  const std::byte* rounded = rounded_values.bytes.data();
  const std::vector<char>& are_elements = rounded_values.are_elements;
  std::int64_t size = array.element_bytes(), count = values.count();
  std::int64_t trivial = rounded_values.whole_count;
  clear_others(elements, size);
  bool keeps_all = 8 * (count - trivial) > count,
       is_run = is_row_major(array) && elements.offset % size == 0;
  if (trivial == count && !find_table(size)) return;
  Table& table = table_for(size);
  if (is_run && trivial == count) return clear_range(table, elements.offset / size, count);
  if (is_run && keeps_all && std::memcmp(rounded, array.data, std::size_t(count * size)) == 0)
    return set_run(table, elements.offset / size, values, rounded);
  std::vector<std::int64_t> places = storage_places(elements), kept;
  for (std::int64_t place : places)
    if (place < std::int64_t(table.slots.size())) clear(table.slots[std::size_t(place)]);
  const std::byte* begin = array.data - elements.offset;
  for (std::size_t i = 0; i < places.size(); ++i) {
    bool is_kept = keeps_all || !are_elements[i];
    if (is_kept &&
        is_same_element(rounded + std::int64_t(i) * size, begin + places[i] * size, size))
      kept.push_back(std::int64_t(i));
  }
  if (kept.empty()) return;
  make_room(table, *std::max_element(places.begin(), places.end()) + 1);
  std::uint32_t block = add_block(keeps_all ? values : values.taken(kept));
  for (std::size_t k = 0; k < kept.size(); ++k) {
    std::int64_t i = kept[k], place = places[std::size_t(i)];
    Slot& slot = table.slots[std::size_t(place)];
    clear(slot);
    slot = {block, std::uint32_t(keeps_all ? i : std::int64_t(k))};
    ++blocks_[block - 1].used;
    std::memcpy(table.bits.data() + place * size, rounded + i * size, std::size_t(size));
  }
}

void ExactRecord::write(const ElementsOfStorage& elements, const ExactValues& values) {
  keep(elements, values, RoundedValues::written(elements.array, values));
}

void ExactRecord::keep(const ElementsOfStorage& elements, const ExactValues& values) {
  keep(elements, values, RoundedValues::of(elements.array, values));
}

void ExactRecord::drop(const ElementsOfStorage& elements) {
  std::lock_guard lock(mutex_);
  if (tables_.empty()) return;
  clear_others(elements, elements.array.element_bytes());
  const Table* known = find_table(elements.array.element_bytes());
  if (!known) return;
  Table& table = table_for(elements.array.element_bytes());
  std::int64_t size = elements.array.element_bytes();
  if (is_row_major(elements.array) && elements.offset % size == 0)
    return clear_range(table, elements.offset / size, elements.array.count());
  for (std::int64_t place : storage_places(elements))
    if (place < std::int64_t(table.slots.size())) clear(table.slots[std::size_t(place)]);
}

std::int64_t ExactRecord::nbytes() const {
  std::lock_guard lock(mutex_);
  std::int64_t bytes = 0;
  for (const Table& table : tables_)
    bytes += std::int64_t(table.slots.size() * sizeof(Slot) + table.bits.size());
  for (const Block& block : blocks_) bytes += block.values.nbytes();
  return bytes;
}

}  // namespace simmesh
