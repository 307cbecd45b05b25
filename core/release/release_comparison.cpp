#include "core/release/release_comparison.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "core/check/json_value.h"

namespace simmesh {

namespace {

std::size_t count_of(gsl::span<const ReleaseComparison> comparisons) {
  std::size_t count = 0;
  for (const ReleaseComparison& comparison : comparisons) count += comparison.differences.size();
  return count;
}

// Formats a table. Each cell but the last of a row is padded to the widest of its column.
std::string table_of(const std::vector<ReleaseDifference>& differences) {
  std::vector<std::vector<std::string>> rows = {{""}};
  for (Release release : releases) rows.front().emplace_back(to_string(release));
  for (const ReleaseDifference& difference : differences) {
    rows.push_back({difference.what});
    rows.back().insert(rows.back().end(), difference.values.begin(), difference.values.end());
  }
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += fmt::format("{}{:<{}}", i == 0 ? "  " : "   ", row[i], widths[i]);
    text += "\n";
  }
  return text;
}

// Formats a list: values of cases are sentences, too long for columns.
std::string list_of(const std::vector<ReleaseDifference>& differences) {
  std::string text;
  for (const ReleaseDifference& difference : differences) {
    text += fmt::format("  {}\n", difference.what);
    for (std::size_t i = 0; i < releases.size(); ++i)
      text += fmt::format("    {}: {}\n", to_string(releases[i]), difference.values[i]);
  }
  return text;
}

std::string_view word_of(ReleaseComparison::Subject subject) {
  return subject == ReleaseComparison::Subject::gate ? "gate" : "cases";
}

std::string text_of(const ReleaseComparison& comparison) {
  std::string text = fmt::format("{} {}{}{}\n", word_of(comparison.subject), comparison.file,
                                 comparison.title.empty() ? "" : ": ", comparison.title);
  if (comparison.differences.empty())
    return text + fmt::format("nothing differs: {}\n", join_text(comparison.same, ", "));
  text += comparison.subject == ReleaseComparison::Subject::gate ? table_of(comparison.differences)
                                                                 : list_of(comparison.differences);
  if (!comparison.same.empty())
    text += fmt::format("the same: {}\n", join_text(comparison.same, ", "));
  return text;
}

}  // namespace

std::string to_text(gsl::span<const ReleaseComparison> comparisons, ReleasesTextOptions options) {
  std::string text;
  if (!options.quiet)
    for (const ReleaseComparison& comparison : comparisons) text += text_of(comparison);
  return text + fmt::format("{} differences\n", count_of(comparisons));
}

std::string to_json(gsl::span<const ReleaseComparison> comparisons) {
  JsonValue::List gates, cases;
  for (const ReleaseComparison& comparison : comparisons) {
    JsonValue::List differences;
    for (const ReleaseDifference& difference : comparison.differences) {
      JsonValue row = JsonValue::object({{"what", difference.what}});
      for (std::size_t i = 0; i < releases.size(); ++i)
        row.set(std::string(to_string(releases[i])), difference.values[i]);
      differences.push_back(std::move(row));
    }
    JsonValue file = JsonValue::object({{"file", comparison.file}});
    if (comparison.subject == ReleaseComparison::Subject::gate) file.set("title", comparison.title);
    file.set("differences", std::move(differences));
    file.set("same", comparison.same);
    (comparison.subject == ReleaseComparison::Subject::gate ? gates : cases)
        .push_back(std::move(file));
  }
  JsonValue json =
      JsonValue::object({{"differences", count_of(comparisons)}, {"gates", std::move(gates)}});
  if (!cases.empty()) json.set("cases", std::move(cases));
  return json.text_utf8() + "\n";
}

}  // namespace simmesh
