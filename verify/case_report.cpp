#include "verify/case_report.h"

#include <cctype>
#include <fmt/ranges.h>

namespace simmesh {

std::string value_text(const std::vector<std::string>& texts) { return fmt::format("{}", texts); }
std::string value_text(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}", numbers);
}
std::string value_text(const std::vector<std::vector<std::int64_t>>& lists) {
  return fmt::format("{}", lists);
}
std::string value_text(const std::vector<std::vector<std::size_t>>& lists) {
  return fmt::format("{}", lists);
}
std::string value_text(const std::set<std::string>& texts) { return fmt::format("{}", texts); }
std::string value_text(const std::map<std::string, std::int64_t>& counts) {
  return fmt::format("{}", counts);
}

Schema refusal_schema() {
  using namespace schema;
  return object({expected("error", refusal_class()), expected("message_contains", text())});
}

Schema refusal_class() {
  return schema::word({"AssertionError", "AttributeError", "IndexError", "KeyError",
                       "NotImplementedError", "RuntimeError", "TypeError", "ValueError",
                       "ZeroDivisionError"});
}

void CaseReport::mismatch(std::string text) {
  ++count_;
  if (shown_.size() < shown_max) shown_.push_back(std::move(text));
}

void CaseReport::expect_refusal(std::string_view who, const CaseField& error,
                                const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& actual) {
    return expect_refusal(who, error, &actual);
  }
  expect_refusal(who, error, nullptr);
}

void CaseReport::expect_refusal(std::string_view who, const CaseField& error, const Error* actual) {
  std::string kind = error["error"].text();
  std::string phrase = error["message_contains"].text();
  if (actual != nullptr && to_string(actual->kind()) == kind &&
      std::string_view(actual->what()).find(phrase) != std::string_view::npos)
    return;
  mismatch(fmt::format("{}: expected a {} with '{}', got {}", who, kind, phrase,
                       actual == nullptr
                           ? "no error"
                           : fmt::format("a {}: {}", to_string(actual->kind()), actual->what())));
}

namespace {

std::string in_lower_case(std::string_view text) {
  std::string result;
  for (char c : text) result += char(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

void CaseReport::expect_words(std::string_view who, const CaseField& error,
                              std::string_view message) {
  std::string lower = in_lower_case(message);
  for (const std::string& word : error["words"].texts())
    if (lower.find(in_lower_case(word)) == std::string::npos)
      mismatch(fmt::format("{}expected '{}' in the message, got: {}", who, word, message));
}

namespace {

void fold(std::optional<FoldHash>& hash, std::uint64_t word) {
  if (!hash) hash.emplace();
  hash->fold(word);
}

std::optional<std::uint64_t> value_of(const std::optional<FoldHash>& hash) {
  if (!hash) return std::nullopt;
  return hash->value();
}

}  // namespace

void CaseReport::fold_data(std::uint64_t hash) { fold(data_, hash); }
void CaseReport::fold_schedule(std::uint64_t hash) { fold(schedule_, hash); }
std::optional<std::uint64_t> CaseReport::data_hash() const { return value_of(data_); }
std::optional<std::uint64_t> CaseReport::schedule_hash() const { return value_of(schedule_); }

}  // namespace simmesh
