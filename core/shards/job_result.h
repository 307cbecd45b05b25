#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/json_value.h"
#include "core/shards/shard_results.h"

namespace simmesh {

// result_of_job returns the result of a job. Raises a ValueError if there is none.
const JsonValue& result_of_job(const ShardResults& all, std::uint64_t job);

// refuse_member raises a ValueError for a result whose value under a key can't be one.
[[noreturn]] void refuse_member(const JsonValue& result, std::string_view key);

// read_member reads the value under a key of a result into a variable, which stays as it is if the
// result has none. Raises a ValueError for a value of another type.
template <class T>
void read_member(const JsonValue& result, std::string_view key, T& variable) {
  const JsonValue* found = result.find(key);
  if (!found) return;
  const T* value = found->get<T>();
  if (!value) refuse_member(result, key);
  variable = *value;
}

// The same of a size, which is no negative number.
inline void read_member(const JsonValue& result, std::string_view key, std::size_t& variable) {
  auto number = std::int64_t(variable);
  read_member(result, key, number);
  if (number < 0) refuse_member(result, key);
  variable = std::size_t(number);
}

// texts_of_member returns the texts of the list under a key of a result; none if the result has no
// such key. Raises a ValueError for anything else.
std::vector<std::string> texts_of_member(const JsonValue& result, std::string_view key);

}  // namespace simmesh
