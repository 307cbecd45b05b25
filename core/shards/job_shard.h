#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace simmesh {

// JobShard is one of several shares of some jobs, which are done apart from one another and are
// together all of them. index counts from 1.
struct JobShard {
  std::uint64_t index = 1;
  std::uint64_t count = 1;

  bool operator==(const JobShard&) const = default;

  // parse reads "2/8". Raises a ValueError for anything else.
  static JobShard parse(std::string_view text);

  // The jobs numbered index - 1, index - 1 + count, and so on are the shard's. jobs_of returns how
  // many of some jobs these are, and job the number of one of them.
  std::uint64_t jobs_of(std::uint64_t jobs) const { return (jobs + count - index) / count; }
  std::uint64_t job(std::uint64_t i) const { return index - 1 + i * count; }
};

// to_string returns "2/8".
std::string to_string(const JobShard& shard);

}  // namespace simmesh
