#include "sharding/rules/rule_input.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

#include "core/check/error.h"

namespace simmesh {

namespace {

constexpr std::int64_t uncut_size = 3;
// Where more dims are cut, their sizes vary together.
constexpr std::size_t product_max = 2;
constexpr std::size_t digits_max = 6;

using Dim = RuleInput::Dim;

bool has_letters(gsl::span<const RuleInput> inputs) {
  for (const RuleInput& input : inputs)
    for (const Dim& dim : input.dims)
      if (std::holds_alternative<char>(dim)) return true;
  return false;
}

// Returns the dims that some row cuts, each once, in the order of the inputs.
std::vector<Dim> dims_cut(gsl::span<const RuleInput> inputs, gsl::span<const RuleRow> rows,
                          bool by_letters) {
  std::vector<Dim> cut;
  for (const RuleRow& row : rows)
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Placement& placement = row.inputs[i];
      if (!placement.splits() || placement.dim() >= std::int64_t(inputs[i].dims.size())) continue;
      const Dim& dim = inputs[i].dims[std::size_t(placement.dim())];
      if (std::holds_alternative<char>(dim) == by_letters &&
          std::find(cut.begin(), cut.end(), dim) == cut.end())
        cut.push_back(dim);
    }
  return cut;
}

std::set<std::int64_t> sizes_to_cut(std::int64_t ranks, gsl::span<const RulePieces> kinds) {
  std::set<std::int64_t> sizes;
  for (RulePieces kind : kinds) switch (kind) {
      case RulePieces::even: sizes.insert({ranks, 2 * ranks}); break;
      case RulePieces::uneven: sizes.insert(2 * ranks - 1); break;
      case RulePieces::few:
        sizes.insert({1, ranks + 1});
        if (ranks > 1) sizes.insert(ranks - 1);
        break;
      case RulePieces::none: sizes.insert(0); break;
    }
  return sizes;
}

Shape shape_of(const RuleInput& input, const std::map<Dim, std::int64_t>& sizes, bool by_letters) {
  Shape shape;
  for (const Dim& dim : input.dims) {
    auto known = sizes.find(dim);
    if (known != sizes.end())
      shape.push_back(known->second);
    else
      shape.push_back(by_letters && std::holds_alternative<std::int64_t>(dim)
                          ? std::get<std::int64_t>(dim)
                          : uncut_size);
  }
  return shape;
}

}  // namespace

RuleInput::RuleInput(std::string_view dims_text, Tensor its_values)
    : values(std::move(its_values)) {
  for (std::size_t i = 0; i < dims_text.size(); ++i) {
    auto is_digit = [&](std::size_t at) {
      return at < dims_text.size() && std::isdigit(static_cast<unsigned char>(dims_text[at])) != 0;
    };
    char c = dims_text[i];
    std::size_t end = i;
    while (is_digit(end)) ++end;
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      dims.emplace_back(c);
    } else if (end > i && end - i <= digits_max) {
      dims.emplace_back(std::int64_t(std::stoll(std::string(dims_text.substr(i, end - i)))));
      i = end - 1;
    } else if (c != ' ' && c != ',') {
      raise(ErrorKind::value_error, "rules",
            "expected letters such as 'mk' and numbers for the dims of an input, got '{}'",
            dims_text);
    }
  }
}

std::vector<RuleShapes> rule_shapes(gsl::span<const RuleInput> inputs,
                                    gsl::span<const RuleRow> rows, std::int64_t ranks,
                                    gsl::span<const RulePieces> kinds) {
  bool by_letters = has_letters(inputs);
  std::vector<Dim> cut = dims_cut(inputs, rows, by_letters);
  std::set<std::int64_t> choices = sizes_to_cut(ranks, kinds);
  std::vector<std::map<Dim, std::int64_t>> picks = {{}};
  if (cut.size() <= product_max) {
    for (const Dim& dim : cut) {
      std::vector<std::map<Dim, std::int64_t>> more;
      for (const auto& pick : picks)
        for (std::int64_t size : choices) more.emplace_back(pick)[dim] = size;
      picks = std::move(more);
    }
  } else {
    picks.clear();
    for (std::int64_t size : choices) {
      auto& pick = picks.emplace_back();
      for (const Dim& dim : cut) pick[dim] = size;
    }
  }
  std::set<std::pair<std::int64_t, std::vector<std::vector<std::int64_t>>>> sorted;
  for (const auto& pick : picks) {
    std::int64_t elements = 0;
    std::vector<std::vector<std::int64_t>> shapes;
    for (const RuleInput& input : inputs) {
      Shape shape = shape_of(input, pick, by_letters);
      elements += numel(shape);
      shapes.emplace_back(shape.begin(), shape.end());
    }
    sorted.emplace(elements, std::move(shapes));
  }
  std::vector<RuleShapes> result;
  for (const auto& [elements, shapes] : sorted) {
    auto& of_trial = result.emplace_back();
    for (const auto& sizes : shapes) of_trial.emplace_back(sizes.begin(), sizes.end());
  }
  return result;
}

std::string to_string(const RuleShapes& shapes) {
  std::string text;
  for (const Shape& shape : shapes) {
    if (!text.empty()) text += ", ";
    text += to_string(DimSpan(shape));
  }
  return text;
}

}  // namespace simmesh
