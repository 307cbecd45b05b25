#include "core/engine/options/run_words.h"

#include <fmt/format.h>

#include "core/check/shell_word.h"

namespace simmesh {

std::string flags(const RunWords& words) {
  const RunWords usual;
  std::string text;
  if (words.seed != usual.seed) text += fmt::format(" --seed {}", words.seed);
  if (words.schedule != usual.schedule) text += " --schedule " + shell_word(words.schedule);
  if (words.threads != usual.threads) text += fmt::format(" --threads {}", words.threads);
  if (words.arithmetic) text += " --arithmetic " + shell_word(*words.arithmetic);
  if (words.release) text += fmt::format(" --release {}", to_string(*words.release));
  if (words.timeout_seconds != usual.timeout_seconds)
    text += fmt::format(" --timeout {}", words.timeout_seconds);
  return text;
}

}  // namespace simmesh
