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
  return std::memcmp(a, b, std::size_t(size)) == 0;
}

// True if values are those of an array in their order.
bool are_all_in_order(const std::vector<std::int64_t>& places, std::int64_t count) {
  if (std::int64_t(places.size()) != count) return false;
  for (std::int64_t i = 0; i < count; ++i)
    if (places[std::size_t(i)] != i) return false;
  return true;
}

void check_elements(const ElementsOfStorage& elements, const ExactValues& values) {
  if (values.count() != elements.array.count())
    raise(ErrorKind::value_error, "companions/record", "expected {} elements, got {}",
          values.count(), elements.array.count());
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

std::optional<ExactValues> ExactRecord::read(const ElementsOfStorage& elements) const {
  std::lock_guard lock(mutex_);
  std::int64_t size = elements.array.element_bytes();
  const Table* table = find_table(size);
  if (!table || elements.array.count() == 0) return std::nullopt;
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

void ExactRecord::keep_row_major(const ElementsOfStorage& elements, const ExactValues& values,
                                 const std::byte* rounded) {
  std::int64_t size = elements.array.element_bytes();
  std::vector<std::int64_t> places = storage_places(elements);
  clear_others(elements, size);
  std::vector<char> are_elements = values.are_elements(elements.array.dtype, rounded);
  const std::byte* begin = elements.array.data - elements.offset;
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (!are_elements[i] &&
        is_same_element(rounded + std::int64_t(i) * size, begin + places[i] * size, size))
      kept.push_back(std::int64_t(i));
  Table* table = kept.empty() && !find_table(size) ? nullptr : &table_for(size);
  if (!table) return;
  auto slots = std::int64_t(table->slots.size());
  for (std::int64_t place : places)
    if (place < slots) clear(table->slots[std::size_t(place)]);
  if (kept.empty()) return;
  std::int64_t most = *std::max_element(places.begin(), places.end()) + 1;
  if (most > slots) {
    most = std::max(most, storage_bytes_ / size);
    table->slots.resize(std::size_t(most));
    table->bits.resize(std::size_t(most * size));
  }
  bool keeps_all = std::int64_t(kept.size()) * 2 > values.count();
  std::uint32_t block = add_block(keeps_all ? values : values.taken(kept));
  for (std::size_t k = 0; k < kept.size(); ++k) {
    std::int64_t i = kept[k], place = places[std::size_t(i)];
    Slot& slot = table->slots[std::size_t(place)];
    clear(slot);
    slot = {block, std::uint32_t(keeps_all ? i : std::int64_t(k))};
    ++blocks_[block - 1].used;
    std::memcpy(table->bits.data() + place * size, rounded + i * size, std::size_t(size));
  }
}

void ExactRecord::write(const ElementsOfStorage& elements, const ExactValues& values) {
  check_elements(elements, values);
  std::vector<std::byte> rounded = values.round(elements.array.dtype);
  write_row_major(elements.array, rounded.data());
  std::lock_guard lock(mutex_);
  keep_row_major(elements, values, rounded.data());
}

void ExactRecord::keep(const ElementsOfStorage& elements, const ExactValues& values) {
  check_elements(elements, values);
  std::vector<std::byte> rounded = values.round(elements.array.dtype);
  std::lock_guard lock(mutex_);
  keep_row_major(elements, values, rounded.data());
}

void ExactRecord::drop(const ElementsOfStorage& elements) {
  std::lock_guard lock(mutex_);
  if (tables_.empty()) return;
  clear_others(elements, elements.array.element_bytes());
  const Table* known = find_table(elements.array.element_bytes());
  if (!known) return;
  Table& table = table_for(elements.array.element_bytes());
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
