#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/store/store.h"
#include "core/check/json_value.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

// PickleWriter writes a pickle of protocol 2 or 4, value by value, in the order of Python's stack
// machine.
//
//   checkpoint::PickleWriter out(checkpoint::PickleWriter::Protocol::two);
//   out.global("torch", "Size");
//   out.begin_tuple();
//   out.integers(Dims{2, 3});      // a tuple
//   out.end_tuple();
//   out.reduce();                  // torch.Size((2, 3))
//   std::vector<std::byte> bytes = out.finish();
class PickleWriter {
 public:
  enum class Protocol : std::uint8_t { two = 2, four = 4 };

  explicit PickleWriter(Protocol protocol);

  void none() { put('N'); }
  void flag(bool value) { put(char(value ? 0x88 : 0x89)); }
  void integer(std::int64_t value);
  void number(double value);
  void text(std::string_view value);
  // json writes a value as Python has it: tagged ones (checkpoint/catalog/tagged_value.h) as bytes,
  // complex numbers, wide integers, ranges, slices, time deltas, dicts and arrays of NumPy. Others
  // are dicts with their tag. Raises a ValueError for a tag with a value that it doesn't take.
  void json(const JsonValue& value);
  void integers(DimSpan values);

  void global(std::string_view module, std::string_view name);
  void reduce() { put('R'); }
  void new_object();  // of a class without arguments
  void build() { put('b'); }
  void persistent() { put('Q'); }
  // A tuple, list or dict is begun, gets its entries, and is ended. An entry of a dict is two
  // values.
  void begin_tuple() { put('('); }
  void end_tuple() { put('t'); }
  void begin_list();
  void end_list() { put('e'); }
  void begin_dict();
  void end_dict() { put('u'); }

  // finish ends the pickle and returns it.
  std::vector<std::byte> finish();

 private:
  void put(char byte) { bytes_.push_back(std::byte(byte)); }
  void put_number(std::uint64_t value, int count);
  void put_text(std::string_view value);
  bool tagged_json(std::string_view tag, const JsonValue& value);
  void call_json(std::string_view module, std::string_view name, const JsonValue::List& arguments);

  Protocol protocol_;
  std::vector<std::byte> bytes_;
};

}  // namespace simmesh::checkpoint
