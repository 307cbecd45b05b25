#include <algorithm>
#include <charconv>
#include <string>

#include "core/check/error.h"
#include "core/check/read_file.h"
#include "core/engine/schedules/sampling.h"
#include "core/engine/schedules/schedule.h"

namespace simmesh {

namespace {

constexpr std::size_t schedule_bytes_max = std::size_t(1) << 30;

template <class Integer>
bool read_whole(std::string_view text, Integer& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::uint64_t> read_steps(std::string_view text) {
  std::vector<std::uint64_t> steps;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    std::uint64_t count = 0;
    if (!read_whole(item, count) || count > std::uint64_t(1) << 32)
      raise(ErrorKind::value_error, "engine/schedule",
            "expected the number of steps of each rank, such as walk:6,6,4, got '{}'", item);
    steps.push_back(count);
  }
  return steps;
}

}  // namespace

Schedule Schedule::parse(std::string_view text) {
  auto after = [text](std::string_view prefix) -> std::string_view {
    return text.substr(0, prefix.size()) == prefix ? text.substr(prefix.size())
                                                   : std::string_view();
  };
  if (text == "fifo") return fifo();
  if (text == "seeded") return seeded();
  if (std::uint64_t seed = 0; read_whole(after("seeded:"), seed)) return seeded(seed);
  if (int depth = 0; read_whole(after("pct:"), depth)) return pct({.depth = depth});
  if (text == "pos") return pos_schedule();
  if (std::uint64_t seed = 0; read_whole(after("pos:"), seed)) return pos_schedule(seed);
  if (text == "walk") return walk_schedule();
  if (auto steps = after("walk:"); !steps.empty()) return walk_schedule(read_steps(steps));
  if (auto choices = after("choices:"); !choices.empty()) return replay(choices);
  if (text.substr(0, 7) == "guided:") return guided(choices_from_string(text.substr(7)));
  if (auto path = after("replay:"); !path.empty()) {
    Schedule result = replay(read_file({.where = "engine/schedule",
                                        .what = "a file with a recorded schedule",
                                        .path = std::string(path),
                                        .bytes_max = schedule_bytes_max}));
    result.name_ = std::string(text);
    return result;
  }
  raise(ErrorKind::value_error, "engine/schedule",
        "expected fifo, seeded, seeded:SEED, pct:D, pos, pos:SEED, walk, walk:LIST, replay:FILE, "
        "choices:LIST or guided:LIST, got '{}'",
        text);
}

}  // namespace simmesh
