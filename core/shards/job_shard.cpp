#include "core/shards/job_shard.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "core/check/error.h"

namespace simmesh {

JobShard JobShard::parse(std::string_view text) {
  JobShard shard{0, 0};
  std::size_t slash = std::min(text.find('/'), text.size());
  auto read = [](std::string_view digits, std::uint64_t& value) {
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  bool good = read(text.substr(0, slash), shard.index) && slash < text.size() &&
              read(text.substr(slash + 1), shard.count);
  if (!good || shard.index < 1 || shard.index > shard.count)
    raise(ErrorKind::value_error, "core/shards",
          "expected a shard such as 1/8, from 1/8 to 8/8, got '{}'", text);
  return shard;
}

std::string to_string(const JobShard& shard) {
  return fmt::format("{}/{}", shard.index, shard.count);
}

}  // namespace simmesh
