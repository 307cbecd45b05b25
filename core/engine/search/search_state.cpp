#include "core/engine/search/search_state.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <utility>

#include "core/check/append_text.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

constexpr std::string_view first_line = "simmesh search 1";

// StateLines reads the lines of a state, each a name and words.
class StateLines {
 public:
  explicit StateLines(std::string_view text) : text_(text) {}

  // Returns the name of the next line; empty at the end.
  std::string_view next_name() {
    line_ = text_.substr(0, text_.find('\n'));
    text_.remove_prefix(std::min(line_.size() + 1, text_.size()));
    ++number_;
    return word();
  }

  std::string_view word() {
    std::string_view found = line_.substr(0, line_.find(' '));
    line_.remove_prefix(std::min(found.size() + 1, line_.size()));
    return found;
  }
  std::uint64_t number(int base = 10) {
    std::string_view text = word();
    std::uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) refuse("a number", text);
    return value;
  }
  double share() {
    std::string_view text = word();
    double value = 0;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::hex);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0))
      refuse("a share", text);
    return value;
  }
  bool flag() { return number() != 0; }
  bool has_more() const { return !line_.empty(); }
  EventOrder order() { return choices_from_string(word()); }

  [[noreturn]] void refuse(std::string_view expected, std::string_view got) const {
    raise(ErrorKind::value_error, "engine/search",
          "line {} of the file of a search: expected {}, got '{}'", number_, expected, got);
  }

 private:
  std::string_view text_, line_;
  std::size_t number_ = 0;
};

std::string hex_share(double share) {
  std::array<char, 64> digits{};
  auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), share, std::chars_format::hex);
  return {digits.data(), end.ptr};
}

void read_line(SearchState& state, std::vector<std::vector<WaitingOrder>>& parts,
               std::string_view name, StateLines& lines) {
  if (name == "program") {
    state.program = lines.number(16);
  } else if (name == "shard") {
    state.shard = JobShard::parse(lines.word());
  } else if (name == "known") {
    state.known.splits_steps = lines.flag();
    while (lines.has_more()) state.known.kept.insert(lines.number(16));
  } else if (name == "first") {
    state.has_begun = lines.flag();
    state.data_hash = lines.number(16);
    state.has_touches = lines.flag();
  } else if (name == "found") {
    state.findings.classes = lines.number();
    state.given_up = lines.number();
    state.findings.share_done = lines.share();
    state.findings.one_data_hash = lines.flag();
  } else if (name == "failed") {
    state.findings.failed = lines.order();
  } else if (name == "part") {
    parts.emplace_back();
  } else if (name == "wait" && !parts.empty()) {
    double share = lines.share();
    parts.back().push_back({lines.order(), share});
  } else {
    lines.refuse("a line of a search", name);
  }
}

}  // namespace

std::string SearchState::to_text() const {
  std::string text = fmt::format("{}\nprogram {:016x}\nshard {}\nknown {:d}", first_line, program,
                                 to_string(shard), known.splits_steps);
  for (std::uint64_t object : known.kept) append_text(text, " {:016x}", object);
  append_text(text, "\nfirst {:d} {:016x} {:d}\nfound {} {} {} {:d}\n", has_begun, data_hash,
              has_touches, findings.classes, given_up, hex_share(findings.share_done),
              findings.one_data_hash);
  if (findings.failed) append_text(text, "failed {}\n", choices_to_string(*findings.failed));
  for (const SearchPart& part : parts) {
    text += "part\n";
    for (const WaitingOrder& waiting : part.waiting())
      append_text(text, "wait {} {}\n", hex_share(waiting.share), choices_to_string(waiting.order));
  }
  return text;
}

SearchState search_state_from(std::string_view text) {
  SearchState state;
  std::vector<std::vector<WaitingOrder>> parts;
  std::string_view beginning = text.substr(0, text.find('\n'));
  if (beginning != first_line)
    raise(ErrorKind::value_error, "engine/search",
          "expected the file of a search, which begins with '{}', got '{}'", first_line, beginning);
  StateLines lines(text);
  for (lines.next_name();;) {
    std::string_view name = lines.next_name();
    if (name.empty()) break;
    read_line(state, parts, name, lines);
  }
  for (std::vector<WaitingOrder>& part : parts) state.parts.emplace_back(std::move(part));
  return state;
}

SearchState united(std::vector<SearchState> shards) {
  if (shards.empty())
    raise(ErrorKind::value_error, "engine/search", "expected the shards of a search, got none");
  SearchState all = std::move(shards.front());
  std::set<std::uint64_t> indices{all.shard.index};
  bool is_known_to_all = true;
  for (std::size_t i = 1; i < shards.size(); ++i) {
    SearchState& shard = shards[i];
    if (shard.program != all.program || shard.shard.count != all.shard.count ||
        shard.has_begun != all.has_begun ||
        (shard.known == all.known && shard.data_hash != all.data_hash))
      raise(ErrorKind::value_error, "engine/search",
            "expected shards of one search, got shard {}/{} of another one than shard {}/{}",
            shard.shard.index, shard.shard.count, all.shard.index, all.shard.count);
    is_known_to_all &= shard.known == all.known;
    all.known.add(shard.known);
    all.findings.add(shard.findings);
    all.given_up += shard.given_up;
    indices.insert(shard.shard.index);
    std::move(shard.parts.begin(), shard.parts.end(), std::back_inserter(all.parts));
  }
  if (indices.size() != all.shard.count || shards.size() != all.shard.count)
    raise(ErrorKind::value_error, "engine/search",
          "expected all {} shards of a search, each once, got {} files with {} of them",
          all.shard.count, shards.size(), indices.size());
  all.shard = {};
  if (is_known_to_all) return all;
  return {.program = all.program,
          .known = std::move(all.known),
          .given_up = all.given_up + all.findings.classes};
}

}  // namespace simmesh
