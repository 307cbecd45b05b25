#include "sharding/rules/check_rule.h"

#include <algorithm>

#include "core/check/error.h"
#include "sharding/rules/rule_trial.h"

namespace simmesh {

namespace {

// Rows that aren't claimed are looked for only where there are few.
constexpr std::size_t candidates_max = 256;

// Calls f with each choice of one entry of every list, the last list's changing fastest.
template <class T, class F>
void for_each_choice(const std::vector<std::vector<T>>& lists, F&& f) {
  std::vector<std::size_t> at(lists.size(), 0);
  for (;;) {
    std::vector<T> choice;
    for (std::size_t i = 0; i < lists.size(); ++i) choice.push_back(lists[i][at[i]]);
    f(choice);
    std::size_t i = lists.size();
    while (i > 0 && ++at[i - 1] == lists[i - 1].size()) at[--i] = 0;
    if (i == 0) return;
  }
}

bool has(const std::vector<RuleRow>& rows, const RuleRow& row) {
  return std::find(rows.begin(), rows.end(), row) != rows.end();
}

// Returns the placements that an input may have in a row that nobody claims.
std::vector<Placement> alphabet_of(const RuleInput& input) {
  std::vector<Placement> list = {Replicate()};
  for (std::size_t dim = 0; dim < input.dims.size(); ++dim)
    list.push_back(Shard(std::int64_t(dim)));
  if (!input.values.is_defined()) list.push_back(Partial());
  return list;
}

class RuleJudge {
 public:
  RuleJudge(const RuleFunction& function, gsl::span<const RuleInput> inputs,
            const CheckRuleOptions& options)
      : function_(function), inputs_(inputs), options_(options) {
    check_.function = options.name;
  }

  RuleCheck judge(const std::vector<RuleRow>& rows) && {
    std::vector<Shape> meshes = options_.meshes;
    std::sort(meshes.begin(), meshes.end(), [](const Shape& a, const Shape& b) {
      return a.size() != b.size()
                 ? a.size() < b.size()
                 : std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    });
    std::vector<RuleRow> wrong;
    for (const Shape& mesh : meshes)
      for_each_choice(std::vector<std::vector<RuleRow>>(mesh.size(), rows),
                      [&](const std::vector<RuleRow>& chosen) {
                        for (const RuleRow& row : chosen)
                          if (has(wrong, row)) return;
                        auto found = counter_example(chosen, mesh);
                        if (!found) return;
                        check_.refuted.push_back(std::move(*found));
                        if (chosen.size() == 1) wrong.push_back(chosen[0]);
                      });
    if (check_.trials == 0)
      raise(ErrorKind::runtime_error, "rules",
            "expected a function that runs on whole inputs, it raises for all sizes; for {}: {}",
            to_string(check_.refused.at(0).first), check_.refused.at(0).second);
    if (options_.unclaimed) find_unclaimed(rows, wrong);
    return std::move(check_);
  }

 private:
  std::optional<RuleTrial> trial(gsl::span<const RuleRow> rows, const Shape& mesh,
                                 const RuleShapes& shapes) {
    RulePlacements placements(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      for (const RuleRow& row : rows) placements[i].push_back(row.inputs[i]);
    try {
      return std::optional<RuleTrial>(std::in_place, function_, inputs_,
                                      RuleTrial::Sizes{shapes, mesh}, std::move(placements),
                                      options_);
    } catch (const RuleTrial::Refused& refused) {
      auto is_known = [&](const auto& known) { return known.first == shapes; };
      if (std::none_of(check_.refused.begin(), check_.refused.end(), is_known))
        check_.refused.emplace_back(shapes, refused.why);
      return std::nullopt;
    }
  }

  std::vector<RuleShapes> shapes_for(gsl::span<const RuleRow> rows, const Shape& mesh) const {
    return rule_shapes(inputs_, rows, numel(mesh), options_.pieces);
  }

  std::optional<RuleCounterExample> counter_example(gsl::span<const RuleRow> rows,
                                                    const Shape& mesh) {
    for (const RuleShapes& shapes : shapes_for(rows, mesh)) {
      std::optional<RuleTrial> tried = trial(rows, mesh, shapes);
      if (!tried) continue;
      ++check_.trials;
      if (tried->output_count() != rows[0].outputs.size())
        raise(ErrorKind::value_error, "rules", "expected {} outputs, as the rule has, got {}",
              rows[0].outputs.size(), tried->output_count());
      if (auto wrong = tried->judge(rows, options_.backward))
        return RuleCounterExample{{rows.begin(), rows.end()},
                                  mesh,
                                  shapes,
                                  wrong->what,
                                  wrong->index,
                                  wrong->expected,
                                  wrong->got,
                                  wrong->problem};
    }
    return std::nullopt;
  }

  // Counts the placements of the inputs that rows cover, and finds those that could be.
  void find_unclaimed(const std::vector<RuleRow>& rows, const std::vector<RuleRow>& wrong) {
    std::vector<std::vector<Placement>> alphabets;
    std::size_t count = 1;
    for (const RuleInput& input : inputs_) {
      alphabets.push_back(alphabet_of(input));
      count *= alphabets.back().size();
      if (count > candidates_max) return;
    }
    for_each_choice(alphabets, [&](const std::vector<Placement>& placements) {
      RuleRow probe{placements, {}};
      if (probe.is_replicated()) return;
      bool is_claimed = std::any_of(rows.begin(), rows.end(), [&](const RuleRow& row) {
        return row.inputs == placements && !has(wrong, row);
      });
      std::optional<RuleRow> row = is_claimed ? std::nullopt : row_that_holds(probe);
      check_.covered += is_claimed;
      check_.coverable += is_claimed || row;
      if (row) check_.unclaimed.push_back(std::move(*row));
    });
  }

  // Returns the row with these inputs that holds on 2 and 3 ranks, or nothing.
  std::optional<RuleRow> row_that_holds(const RuleRow& probe) {
    std::vector<std::vector<Placement>> outputs;
    gsl::span<const RuleRow> rows(&probe, 1);
    for (const Shape& mesh : {Shape{2}, Shape{3}})
      for (const RuleShapes& shapes : shapes_for(rows, mesh)) {
        std::optional<RuleTrial> tried = trial(rows, mesh, shapes);
        if (!tried) continue;
        if (outputs.empty())
          for (std::size_t i = 0; i < tried->output_count(); ++i) {
            auto& list = outputs.emplace_back();
            list.push_back(Replicate());
            for (std::int64_t dim = 0; dim < tried->output_dims(i); ++dim)
              list.push_back(Shard(dim));
            list.push_back(Partial());
          }
        if (tried->output_count() != outputs.size()) return std::nullopt;
        auto held = tried->holding(outputs);
        if (!held) return std::nullopt;
        outputs = std::move(*held);
        for (const auto& list : outputs)
          if (list.empty()) return std::nullopt;
      }
    if (outputs.empty()) return std::nullopt;
    RuleRow row = probe;
    for (const auto& list : outputs) row.outputs.push_back(list.front());
    if (options_.backward)
      for (const Shape& mesh : {Shape{2}, Shape{3}})
        if (counter_example({&row, 1}, mesh)) return std::nullopt;
    return row;
  }

  const RuleFunction& function_;
  gsl::span<const RuleInput> inputs_;
  const CheckRuleOptions& options_;
  RuleCheck check_;
};

void check_options(const CheckRuleOptions& options) {
  auto is_bad = [](const Shape& mesh) {
    return mesh.empty() || *std::min_element(mesh.begin(), mesh.end()) < 1;
  };
  for (const Shape& mesh : options.meshes)
    if (is_bad(mesh))
      raise(ErrorKind::value_error, "rules", "expected sizes of a mesh of at least 1, got {}",
            to_string(DimSpan(mesh)));
  if (options.meshes.empty())
    raise(ErrorKind::value_error, "rules", "expected a mesh to judge on, got none");
  if (options.pieces.empty())
    raise(ErrorKind::value_error, "rules",
          "pieces: expected some of even, uneven, few, none, got none of them");
  if (options.schedules.empty())
    raise(ErrorKind::value_error, "rules", "expected a schedule to run ranks under, got none");
}

}  // namespace

RuleCheck check_rule(const RuleFunction& function, const RuleText& rule,
                     std::vector<RuleInput> inputs, const CheckRuleOptions& options) {
  RuleRows claimed = parse_rule(rule);
  check_options(options);
  if (inputs.empty()) {
    if (!claimed.letters)
      raise(ErrorKind::value_error, "rules",
            "expected inputs, as {{\"mk\", \"kn\"}}, got none: only a rule of letters says them "
            "itself");
    for (const std::string& letters : *claimed.letters) inputs.emplace_back(letters);
  }
  if (inputs.size() != claimed.rows[0].inputs.size())
    raise(ErrorKind::value_error, "rules", "expected {} inputs, as the rule has, got {}",
          claimed.rows[0].inputs.size(), inputs.size());
  for (const RuleRow& row : claimed.rows)
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (row.inputs[i].splits() && row.inputs[i].dim() >= std::int64_t(inputs[i].dims.size()))
        raise(ErrorKind::value_error, "rules",
              "rule '{}': input {} has {} dims, which {} can't cut", to_string(row), i,
              inputs[i].dims.size(), to_string(row.inputs[i]));
  return RuleJudge(function, inputs, options).judge(claimed.rows);
}

RuleCheck check_registered_rule(const std::string& op, std::vector<RuleInput> inputs,
                                const Attributes& attributes, CheckRuleOptions options) {
  if (options.name == CheckRuleOptions().name) options.name = op;
  RuleFunction function = registered_op(op, attributes);
  RuleText rule = registered_rule(op, inputs, attributes);
  return check_rule(function, rule, std::move(inputs), options);
}

}  // namespace simmesh
