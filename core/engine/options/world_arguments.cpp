#include "core/engine/options/world_arguments.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/shell_word.h"

namespace simmesh {

namespace {

constexpr std::string_view where = "engine/arguments";
constexpr std::string_view flag_names[] = {"--seed", "--schedule", "--threads", "--timeout",
                                           "--release"};

template <class T>
T number(std::string_view flag, const std::string& text, std::string_view expected) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || !std::isfinite(double(value)) || value < T(0))
    raise(ErrorKind::value_error, where, "expected {} after {}, got '{}'", expected, flag, text);
  return value;
}

void set_flag(WorldArguments& arguments, std::string_view flag, const std::string& value) {
  if (flag == "--seed") {
    arguments.seed = number<std::uint64_t>(flag, value, "a number from 0 to 2^64 - 1");
  } else if (flag == "--schedule") {
    arguments.schedules.push_back(Schedule::parse(value));
  } else if (flag == "--threads") {
    arguments.threads = number<std::size_t>(flag, value, "a number of threads");
    if (*arguments.threads == 0)
      raise(ErrorKind::value_error, where, "expected at least one thread after {}, got 0", flag);
  } else if (flag == "--release") {
    arguments.release = parse_release(value);
  } else {
    arguments.timeout_seconds = number<double>(flag, value, "a number of seconds");
  }
}

std::string_view flag_of(std::string_view word) {
  std::string_view name = word.substr(0, word.find('='));
  for (std::string_view flag : flag_names)
    if (name == flag) return flag;
  return {};
}

}  // namespace

WorldArguments WorldArguments::parse(gsl::span<const std::string> words) {
  WorldArguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view flag = flag_of(words[i]);
    if (flag.empty()) {
      arguments.others.push_back(words[i]);
    } else if (words[i].size() > flag.size()) {
      set_flag(arguments, flag, words[i].substr(flag.size() + 1));
    } else if (i + 1 < words.size()) {
      set_flag(arguments, flag, words[++i]);
    } else {
      raise(ErrorKind::value_error, where, "expected a value after {}, got the end of the line",
            flag);
    }
  }
  return arguments;
}

std::string WorldArguments::flags() const {
  std::string text;
  if (threads) text += fmt::format(" --threads {}", *threads);
  if (timeout_seconds) text += fmt::format(" --timeout {}", *timeout_seconds);
  if (release) text += fmt::format(" --release {}", to_string(*release));
  return text;
}

WorldOptions checked_world_options(gsl::span<const std::string> command_line,
                                   WorldOptions options) {
  bool has_name = !command_line.empty();
  WorldArguments arguments = WorldArguments::parse(command_line.subspan(has_name ? 1 : 0));
  if (!arguments.others.empty())
    raise(ErrorKind::value_error, where,
          "expected --seed N, --schedule S, --threads N, --timeout S or --release R, got '{}'",
          arguments.others.front());
  if (arguments.schedules.size() > 1)
    raise(ErrorKind::value_error, where, "expected one --schedule, got {}",
          arguments.schedules.size());
  if (arguments.seed) options.seed = *arguments.seed;
  if (!arguments.schedules.empty()) options.schedule = arguments.schedules.front();
  if (arguments.threads) options.threads = *arguments.threads;
  if (arguments.timeout_seconds) options.timeout_seconds = *arguments.timeout_seconds;
  if (arguments.release) options.release = *arguments.release;
  if (has_name) options.program = shell_word(command_line[0]) + arguments.flags();
  return options;
}

WorldOptions world_options_from(int argc, const char* const* argv, WorldOptions options) {
  try {
    return checked_world_options(std::vector<std::string>(argv, argv + argc), std::move(options));
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    std::exit(2);
  }
}

}  // namespace simmesh
