#include "sharding/validate/coverage_page.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/append_text.h"
#include "core/gradients/gradient_of.h"
#include "core/ops/registry/registry.h"

namespace simmesh {

namespace {

constexpr std::string_view heading =
    R"(# Operators and their sharding rules
Which ops run on distributed tensors, and how? This page is written by `simmesh validate
--coverage`, and a test compares it.

- **runs**: by *rules* for one mesh dim, which are combined over all of them; by *rules over all
  mesh dims* where these can't be looked at one by one, such as a view's; *as other ops*, whose
  rules count; on *replicated only* tensors; or not at all.
- **keeps**: the placements that an input may keep, in one rule at least. Any other is
  redistributed first. `S` is a shard, `_S` a strided one, `Ragged` a ragged one.
- **gradient**: *judged* where the op's gradient was also computed on the pieces of every rank
  and compared; *yes* where it runs as ops on distributed tensors; *no* where the op has none.
- **rules**: how many rules of how many sample calls `simmesh validate` judges, on 2 to 4 ranks
  and on a 2x2 mesh, with even, uneven and empty shards. None of them is wrong.

)";

// The kinds in the order in which a reader looks for them.
constexpr std::string_view kinds[] = {"S",       "_S",     "Ragged", "P(sum)",
                                      "P(avg)",  "P(min)", "P(max)", "P(product)",
                                      "P(band)", "P(bor)", "P(bxor)"};

std::string kind_of(std::string_view placement) {
  if (placement.starts_with("S(")) return "S";
  if (placement.starts_with("_S(")) return "_S";
  return std::string(placement);
}

// Calls f with each input of a rule as it is written; a comma inside brackets doesn't separate.
template <class F>
void for_each_input(std::string_view rule, F&& f) {
  std::string_view inputs = rule.substr(0, rule.find(" -> "));
  std::size_t begin = 0, depth = 0;
  for (std::size_t i = 0; i <= inputs.size(); ++i) {
    if (i < inputs.size() && inputs[i] == '(') ++depth;
    if (i < inputs.size() && inputs[i] == ')') --depth;
    if (i < inputs.size() && (inputs[i] != ',' || depth > 0)) continue;
    f(inputs.substr(begin, i - begin));
    begin = i + 1;
  }
}

std::string kept_by(const OpVerdict& op) {
  std::vector<std::string> found;
  for (const SampleVerdict& sample : op.samples)
    for (const auto& [rule, verdict] : sample.rules)
      for_each_input(rule, [&](std::string_view input) { found.push_back(kind_of(input)); });
  std::string text;
  for (std::string_view kind : kinds)
    if (std::find(found.begin(), found.end(), kind) != found.end())
      text += fmt::format("{}`{}`", text.empty() ? "" : " ", kind);
  return text;
}

std::string_view gradient_text(const OpVerdict& op) {
  if (!gradient_of(*find_op(op.op))) return "no";
  for (const SampleVerdict& sample : op.samples)
    for (const auto& [rule, verdict] : sample.rules)
      if (verdict.has_gradient) return "judged";
  return "yes";
}

}  // namespace

std::string coverage_page(const ValidateResult& result) {
  std::vector<const OpVerdict*> ops;
  for (const OpVerdict& op : result.ops) ops.push_back(&op);
  std::sort(ops.begin(), ops.end(), [](auto* a, auto* b) { return a->op < b->op; });
  std::string page(heading);
  page += "| op | runs | keeps | gradient | rules |\n| --- | --- | --- | --- | --- |\n";
  for (const OpVerdict* op : ops) {
    std::size_t rules = 0;
    for (const SampleVerdict& sample : op->samples) rules += sample.rules.size();
    append_text(page, "| `{}` | {} | {} | {} | {} of {} calls |\n", op->op, to_string(op->way),
                kept_by(*op), gradient_text(*op), rules, op->samples.size());
  }
  return page + fmt::format("\n{} ops, {} rules.\n", ops.size(), result.counts().rules);
}

}  // namespace simmesh
