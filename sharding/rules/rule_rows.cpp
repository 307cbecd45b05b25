#include "sharding/rules/rule_rows.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "core/check/error.h"

namespace simmesh {

namespace {

using Entries = std::vector<std::string>;

std::string stripped(std::string_view text) {
  auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

// Returns the entries of a list, which commas within parentheses don't divide.
Entries entries_of(std::string_view text) {
  Entries entries;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    entries.push_back(stripped(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return entries;
}

struct Sides {
  std::string text;
  Entries inputs, outputs;
};

Sides sides_of(const std::string& row) {
  std::size_t arrow = row.find("->");
  bool is_one = arrow != std::string::npos && row.find("->", arrow + 2) == std::string::npos;
  std::string left = is_one ? stripped(std::string_view(row).substr(0, arrow)) : "";
  std::string right = is_one ? stripped(std::string_view(row).substr(arrow + 2)) : "";
  if (left.empty() || right.empty())
    raise(ErrorKind::value_error, "rules",
          "expected placements on both sides of '->', as in 'S(0), R -> S(0)', got '{}'", row);
  return {row, entries_of(left), entries_of(right)};
}

bool are_letters(const std::string& entry) {
  return std::all_of(entry.begin(), entry.end(),
                     [](unsigned char c) { return std::isalpha(c) != 0; });
}

// True if a rule has letters for dims. R and P alone are placements.
bool is_einsum(const Sides& sides) {
  bool has_dims = false;
  for (const Entries* entries : {&sides.inputs, &sides.outputs})
    for (const std::string& entry : *entries) {
      if (!are_letters(entry)) return false;
      has_dims = has_dims || (entry != "R" && entry != "P");
    }
  return has_dims;
}

Placement placement_of(const std::string& entry, const std::string& row) {
  if (entry == "P") return Partial();
  std::optional<Placement> placement;
  try {
    placement = parse_placement(entry);
  } catch (const Error&) {
  }
  bool is_dim = placement && (placement->is_shard() || placement->is_strided_shard()) &&
                placement->dim() >= 0;
  bool is_reduction = false;
  if (placement && placement->is_plain_partial())
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max})
      is_reduction = is_reduction || placement->reduce_op() == op;
  if (!placement || !(placement->is_replicate() || is_dim || is_reduction))
    raise(ErrorKind::value_error, "rules",
          "rule '{}': expected R, S(d), _S(d,sf), P, P(sum), P(avg), P(min) or P(max), got '{}'",
          row, entry);
  return *placement;
}

std::vector<Placement> placements_of(const Entries& entries, const std::string& row) {
  std::vector<Placement> placements;
  for (const std::string& entry : entries) placements.push_back(placement_of(entry, row));
  return placements;
}

void check_letters(const Sides& sides) {
  std::string known;
  for (const std::string& entry : sides.inputs) known += entry;
  for (const Entries* entries : {&sides.inputs, &sides.outputs})
    for (const std::string& entry : *entries)
      for (std::size_t i = 0; i < entry.size(); ++i)
        if (entry.find(entry[i], i + 1) != std::string::npos)
          raise(ErrorKind::value_error, "rules", "expected each letter once in an entry, got '{}'",
                entry);
  for (const std::string& entry : sides.outputs)
    for (char letter : entry)
      if (known.find(letter) == std::string::npos)
        raise(ErrorKind::value_error, "rules",
              "expected letters of the inputs in the outputs, got '{}'", letter);
}

std::vector<Placement> cut_along(const Entries& entries, char letter, const Placement& others) {
  std::vector<Placement> placements;
  for (const std::string& entry : entries) {
    std::size_t dim = entry.find(letter);
    placements.push_back(dim == std::string::npos ? others : Shard(std::int64_t(dim)));
  }
  return placements;
}

RuleRows einsum_rows(const Sides& sides) {
  check_letters(sides);
  RuleRows result;
  result.letters = sides.inputs;
  result.rows.push_back(
      {std::vector<Placement>(sides.inputs.size()), std::vector<Placement>(sides.outputs.size())});
  std::string seen;
  for (const std::string& entry : sides.inputs)
    for (char letter : entry) {
      if (seen.find(letter) != std::string::npos) continue;
      seen += letter;
      result.rows.push_back({cut_along(sides.inputs, letter, Replicate()),
                             cut_along(sides.outputs, letter, Partial())});
    }
  return result;
}

std::string list_text(const std::vector<Placement>& placements) {
  std::string text;
  for (const Placement& placement : placements) {
    if (!text.empty()) text += ", ";
    text += to_string(placement);
  }
  return text;
}

std::vector<Sides> lines_of(const RuleText& rule) {
  std::vector<Sides> lines;
  for (const std::string& text : rule.rows) {
    std::size_t begin = 0;
    while (begin <= text.size()) {
      std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = stripped(std::string_view(text).substr(begin, end - begin));
      if (!line.empty()) lines.push_back(sides_of(line));
      begin = end + 1;
    }
  }
  return lines;
}

}  // namespace

bool RuleRow::is_replicated() const {
  auto is_copy = [](const Placement& one) { return one.is_replicate(); };
  return std::all_of(inputs.begin(), inputs.end(), is_copy) &&
         std::all_of(outputs.begin(), outputs.end(), is_copy);
}

std::string to_string(const RuleRow& row) {
  return fmt::format("{} -> {}", list_text(row.inputs), list_text(row.outputs));
}

RuleRows parse_rule(const RuleText& rule) {
  std::vector<Sides> lines = lines_of(rule);
  if (lines.empty())
    raise(ErrorKind::value_error, "rules", "expected a rule, as in 'S(0), R -> S(0)', got none");
  if (lines.size() == 1 && is_einsum(lines[0])) return einsum_rows(lines[0]);
  RuleRows result;
  for (const Sides& line : lines) {
    RuleRow row{placements_of(line.inputs, line.text), placements_of(line.outputs, line.text)};
    const RuleRow& first = result.rows.empty() ? row : result.rows.front();
    if (row.inputs.size() != first.inputs.size() || row.outputs.size() != first.outputs.size())
      raise(ErrorKind::value_error, "rules",
            "expected rows with the same numbers of inputs and outputs, got '{}' and '{}'",
            to_string(first), to_string(row));
    if (std::find(result.rows.begin(), result.rows.end(), row) == result.rows.end())
      result.rows.push_back(std::move(row));
  }
  return result;
}

}  // namespace simmesh
