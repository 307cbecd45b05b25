#pragma once

#include <cstdint>
#include <simdjson.h>
#include <string_view>
#include <vector>

namespace simmesh::replay {

// JsonValues keeps JSON values as a flat list: each is followed by what is inside it. Texts are
// those of the parser, and live as long as the document that was read.
class JsonValues {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, list, object };
  struct Value {
    Kind kind = Kind::null;
    std::uint32_t end = 0;     // index of what follows the value and all that is inside it
    std::int64_t integer = 0;  // also 0 and 1 for a boolean
    std::string_view text = {};
  };
  using Index = std::uint32_t;

  static constexpr std::size_t depth_max = 64;

  void clear() { values_.clear(); }
  // add reads a value and returns its index. Throws a simdjson_error for what isn't JSON, and for
  // values that are nested more than depth_max deep. An object is added without what is inside.
  Index add(simdjson::ondemand::value value, std::size_t depth = 0);

  const Value& operator[](Index index) const { return values_[index]; }
  bool is(Index index, Kind kind) const { return values_[index].kind == kind; }
  // The entries of a list are first, next(first), ... until end.
  Index first(Index list) const { return list + 1; }
  Index next(Index entry) const { return values_[entry].end; }
  Index end(Index list) const { return values_[list].end; }
  std::size_t size(Index list) const;

  // integers appends the entries of a list of integers; false where it isn't one.
  bool integers(Index list, std::vector<std::int64_t>& numbers) const;

 private:
  std::vector<Value> values_;
};

}  // namespace simmesh::replay
