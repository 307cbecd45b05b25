#include "tools/crew/crew.h"

#include <exception>
#include <fmt/format.h>
#include <stdexcept>

#include "core/check/error.h"

namespace simmesh {

namespace {

// The first letter of a process's text.
constexpr char found = '+', failed = '-';

std::string text_of(const CrewWork& work) {
  try {
    return found + work.results().to_text();
  } catch (const std::exception& error) {
    return std::string(1, failed) + error.what();
  }
}

// An error that all processes have is one of the input.
void raise_first_error(const std::vector<std::string>& texts) {
  std::size_t count = 0, first = texts.size();
  for (std::size_t i = texts.size(); i-- > 0;)
    if (texts[i].empty() || texts[i][0] != found) ++count, first = i;
  if (count == 0) return;
  std::string error = texts[first].empty() ? "it ended early" : texts[first].substr(1);
  if (count == texts.size()) throw std::runtime_error(error);
  throw std::runtime_error(fmt::format("process {} of {}: {}", first, texts.size(), error));
}

}  // namespace

Crew* Crew::present_ = nullptr;

Crew::Crew() { present_ = this; }

Crew::~Crew() { present_ = nullptr; }

Processes& Crew::processes() {
  raise(ErrorKind::runtime_error, "tools/crew",
        "expected processes that exchange messages, got a crew of {} that shares jobs only",
        size());
}

int work_in_crew(Crew& crew, const CrewWork& work) {
  std::vector<std::string> texts = crew.gather(text_of(work));
  if (crew.rank() != 0) return 0;
  raise_first_error(texts);
  std::vector<ShardFile> parts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string name = fmt::format("process {}", i);
    parts.push_back({name, shard_results_from(std::string_view(texts[i]).substr(1), name)});
  }
  return work.print(united_draws(parts));
}

}  // namespace simmesh
