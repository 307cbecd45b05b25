#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/arithmetic/companions/element_array.h"
#include "core/arithmetic/companions/exact_values.h"

namespace simmesh {

// ElementsOfStorage are elements of a storage; the first begins `offset` bytes after its begin.
struct ElementsOfStorage {
  ElementArray array;
  std::int64_t offset = 0;
};

// RoundedValues are exact values as elements of a dtype, each rounded once, and says which of them
// are all of their values.
struct RoundedValues {
  std::vector<std::byte> bytes;
  std::vector<char> are_elements;
  std::int64_t whole_count = 0;  // of values that are their elements

  // written rounds values into an array. Raises a ValueError for another number of elements.
  static RoundedValues written(const ElementArray& array, const ExactValues& values);
  // of writes nothing.
  static RoundedValues of(const ElementArray& array, const ExactValues& values);

  bool are_all_elements() const { return whole_count == std::int64_t(are_elements.size()); }
};

// ExactRecord keeps the exact values behind the elements of one storage. Each is kept with the bits
// that its element had when it was written, and counts only while the element has these bits: so
// views and aliases of the storage need no teaching, and whoever else writes to it ends the value
// element by element. A write of the same bits must call drop.
//
//   float number = 0;
//   ElementArray array{reinterpret_cast<std::byte*>(&number), DType::float32, {1}, {1}};
//   ExactRecord record;
//   record.write({array}, ExactValues::of_doubles({0.1}));  // rounds the value into the element
//   std::optional<ExactValues> behind = record.read({array});
//
// An element behind which nothing stands is itself its value. Any thread may use a record.
class ExactRecord {
 public:
  // storage_bytes says how much room a record will need; a storage may grow beyond it.
  explicit ExactRecord(std::int64_t storage_bytes = 0) : storage_bytes_(storage_bytes) {}

  // read returns the values of the elements; nullopt where nothing is kept behind any of them, so
  // that these are the elements. A root among values that aren't roots is read as its element.
  std::optional<ExactValues> read(const ElementsOfStorage& elements) const;
  // write rounds values into the elements, and keeps what isn't the elements themselves.
  // Raises a ValueError for another number of elements.
  void write(const ElementsOfStorage& elements, const ExactValues& values);
  // keep does so for elements that are written already, and keeps nothing for one whose bits aren't
  // those of its value.
  void keep(const ElementsOfStorage& elements, const ExactValues& values);
  void keep(const ElementsOfStorage& elements, const ExactValues& values,
            const RoundedValues& rounded);
  // drop ends what stands behind the elements.
  void drop(const ElementsOfStorage& elements);

  // nbytes counts values, bits and places.
  std::int64_t nbytes() const;

 private:
  // Slot says where the value of one element is: at a place of a block, whose number is 1 and up.
  struct Slot {
    std::uint32_t block = 0;
    std::uint32_t place = 0;
  };
  struct Block {
    ExactValues values;
    std::int64_t used = 0;  // by slots
  };
  // Table has a slot for each element of a storage of elements of one size.
  struct Table {
    std::int64_t element_bytes = 0;
    std::vector<Slot> slots;
    std::vector<std::byte> bits;
  };

  Table& table_for(std::int64_t element_bytes);
  const Table* find_table(std::int64_t element_bytes) const;
  void clear(Slot& slot);
  void clear_range(Table& table, std::int64_t first, std::int64_t count);
  std::optional<ExactValues> read_run(const Table& table, const ElementsOfStorage& elements) const;
  void set_run(Table& table, std::int64_t first, const ExactValues& values,
               const std::byte* rounded);
  void make_room(Table& table, std::int64_t end);
  void clear_others(const ElementsOfStorage& elements, std::int64_t element_bytes);
  std::uint32_t add_block(const ExactValues& values);

  std::int64_t storage_bytes_;
  mutable std::mutex mutex_;
  std::vector<Table> tables_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_blocks_;
};

}  // namespace simmesh
