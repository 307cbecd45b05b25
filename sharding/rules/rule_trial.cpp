#include "sharding/rules/rule_trial.h"

#include <algorithm>
#include <fmt/format.h>

#include "collectives/collectives.h"
#include "collectives/process_group.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/engine/world.h"
#include "core/ops/compute_mode.h"
#include "sharding/rules/rule_values.h"

namespace simmesh {

namespace {

using Tensors = std::vector<Tensor>;
using ByOutputAndRank = std::vector<Tensors>;

const Arithmetic& arithmetic_of(RuleValues values) {
  static const Arithmetic exact = Arithmetic::exact(), canonical = Arithmetic::canonical();
  return values == RuleValues::any ? exact : canonical;
}

Tensors leaves_of(gsl::span<const Tensor> tensors) {
  Tensors leaves;
  for (const Tensor& tensor : tensors) {
    leaves.push_back(tensor.clone());
    if (is_floating_point(tensor.dtype())) set_requires_grad(leaves.back());
  }
  return leaves;
}

// Returns the gradient of each leaf, zeros where the outputs don't depend on it. A gradient of
// another shape than its output counts for nothing: then the output is wrong itself.
Tensors gradients(gsl::span<const Tensor> outputs, gsl::span<const Tensor> of_outputs,
                  gsl::span<const Tensor> leaves) {
  Tensors from, given, wanted, result;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].requires_grad() && of_outputs[i].is_defined() &&
        of_outputs[i].shape() == outputs[i].shape()) {
      from.push_back(outputs[i]);
      given.push_back(of_outputs[i]);
    }
  for (const Tensor& leaf : leaves)
    if (leaf.requires_grad()) wanted.push_back(leaf);
  Tensors found(wanted.size());
  if (!from.empty() && !wanted.empty())
    found = grad(from, wanted, {.gradients = given, .allow_unused = true});
  std::size_t next = 0;
  for (const Tensor& leaf : leaves) {
    Tensor own = leaf.requires_grad() ? found[next++] : Tensor();
    result.push_back(own.is_defined() ? own.detach() : zeros(leaf.shape(), leaf.dtype()));
  }
  return result;
}

// Returns the placement of the gradient of an input: the terms of a sum for one that all ranks hold
// and use on pieces of others, whole for the terms of a sum.
Placement gradient_placement(const RuleRow& row, const Placement& input) {
  if (input.splits()) return input;
  return input.is_partial() || row.is_replicated() ? Replicate() : Partial();
}

bool only_adds(const RuleRow& row) {
  auto adds = [](const Placement& one) {
    return !one.is_partial() || one.reduce_op() == ReduceOp::sum;
  };
  return std::all_of(row.inputs.begin(), row.inputs.end(), adds) &&
         std::all_of(row.outputs.begin(), row.outputs.end(), adds);
}

// Returns the gradient of an output on every rank. Where ranks compute the same output beside
// pieces of others, the first one's counts.
Tensors cut_gradient(const Tensor& gradient, std::size_t output, gsl::span<const RuleRow> rows,
                     DimSpan mesh) {
  Placements placements;
  for (const RuleRow& row : rows) placements.push_back(row.outputs[output]);
  Tensors of_ranks;
  for (std::int64_t rank = 0; rank < numel(mesh); ++rank) {
    RankPlace place{rank};
    Tensor piece = piece_at(gradient, placements, mesh, place);
    for (std::size_t dim = 0; dim < rows.size(); ++dim)
      if (placements[dim].is_replicate() && !rows[dim].is_replicated() &&
          place.of_dim(dim, mesh) != 0)
        piece = zeros(piece.shape(), piece.dtype());
    of_ranks.push_back(piece);
  }
  return of_ranks;
}

std::string text_of(const std::exception& error) {
  auto* own = dynamic_cast<const Error*>(&error);
  return own ? fmt::format("{}: {}", to_string(own->kind()), own->message())
             : fmt::format("exception: {}", error.what());
}

std::string rank_text(std::size_t rank, DimSpan mesh) {
  std::string text;
  for (std::size_t dim = 0; dim < mesh.size(); ++dim)
    text += fmt::format("{}{}", dim ? ", " : "", RankPlace{std::int64_t(rank)}.of_dim(dim, mesh));
  return fmt::format("rank ({})", text);
}

RuleMismatch raised(std::size_t rank, DimSpan mesh, const std::string& error) {
  return {.what = rank_text(rank, mesh), .problem = "the function raises " + error};
}

// Returns a tensor of the same elements that no rank's ledger counts.
Tensor outside(const Tensor& tensor) {
  Tensor rows = tensor.contiguous();
  Tensor copy = empty(rows.shape(), rows.dtype());
  if (rows.bytes() > 0) std::copy_n(rows.data(), rows.bytes(), copy.mutable_data());
  return copy;
}

Tensors outside(gsl::span<const Tensor> tensors) {
  Tensors copies;
  for (const Tensor& tensor : tensors) copies.push_back(outside(tensor));
  return copies;
}

}  // namespace

// OfRanks are the tensors that the ranks computed, by rank.
struct RuleTrial::OfRanks {
  std::vector<Tensors> outputs, gradients;

  Tensors output(std::size_t at) const { return column(outputs, at); }
  Tensors gradient(std::size_t at) const { return column(gradients, at); }

 private:
  static Tensors column(const std::vector<Tensors>& rows, std::size_t at) {
    Tensors tensors;
    for (const Tensors& row : rows) tensors.push_back(row[at]);
    return tensors;
  }
};

RuleTrial::RuleTrial(const RuleFunction& function, gsl::span<const RuleInput> inputs, Sizes sizes,
                     RulePlacements placements, const CheckRuleOptions& options)
    : function_(function), sizes_(std::move(sizes)), options_(options) {
  ArithmeticScope arithmetic(arithmetic_of(options.values));
  RuleDraw draw(options.values, options.seed * 2);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    RuleOperand operand =
        draw_operand(inputs[i], sizes_.shapes[i], placements[i], sizes_.mesh, draw);
    whole_.push_back(std::move(operand.whole));
    pieces_.push_back(std::move(operand.pieces));
  }
  try {
    run_whole();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::type_error &&
        std::string_view(error.what()).starts_with("[rules]"))
      throw;
    throw Refused{text_of(error)};
  } catch (const std::exception& error) {
    throw Refused{text_of(error)};
  }
}

void RuleTrial::run_whole() {
  auto take = [&](gsl::span<const Tensor> outputs) {
    for (const Tensor& output : outputs) is_differentiable_.push_back(output.requires_grad());
  };
  if (!function_.communicates()) {
    KeepUnrounded sums;
    Tensors outputs = function_.call(leaves_of(whole_));
    take(outputs);
    for (const Tensor& output : outputs) outputs_.push_back(output.detach().contiguous());
    return;
  }
  run_on_one_rank([&](const DeviceMesh& mesh) {
    Tensors outputs = function_.call(leaves_of(whole_), &mesh);
    take(outputs);
    outputs_ = outside(outputs);
  });
}

void RuleTrial::run_on_one_rank(const std::function<void(const DeviceMesh& mesh)>& body) const {
  World world({.arithmetic = arithmetic_of(options_.values)});
  world
      .run([&](Rank&) {
        KeepUnrounded sums;
        body(init_device_mesh(Shape(sizes_.mesh.size(), 1)));
      })
      .rethrow();
}

std::vector<Tensor> RuleTrial::gradients_of_whole(gsl::span<const Tensor> of_outputs) const {
  KeepUnrounded sums;
  if (!function_.communicates()) {
    Tensors leaves = leaves_of(whole_);
    return gradients(function_.call(leaves), of_outputs, leaves);
  }
  Tensors result;
  run_on_one_rank([&](const DeviceMesh& mesh) {
    Tensors leaves = leaves_of(whole_);
    result = outside(gradients(function_.call(leaves, &mesh), of_outputs, leaves));
  });
  return result;
}

void RuleTrial::run_rank(std::size_t rank, const DeviceMesh* mesh,
                         const ByOutputAndRank& of_outputs, OfRanks& results) const {
  Tensors own;
  for (const Tensors& of_input : pieces_) own.push_back(of_input[rank]);
  Tensors leaves = leaves_of(own);
  Tensors outputs = function_.call(leaves, mesh), given(outputs.size());
  for (std::size_t i = 0; i < std::min(of_outputs.size(), given.size()); ++i)
    if (!of_outputs[i].empty()) given[i] = of_outputs[i][rank];
  if (!of_outputs.empty()) results.gradients[rank] = gradients(outputs, given, leaves);
  for (Tensor& output : outputs) output = output.detach();
  results.outputs[rank] = std::move(outputs);
}

std::optional<RuleMismatch> RuleTrial::run_world(const ByOutputAndRank& of_outputs,
                                                 const Schedule& schedule, const Look& look) const {
  std::size_t ranks = std::size_t(numel(sizes_.mesh));
  OfRanks results{std::vector<Tensors>(ranks), std::vector<Tensors>(ranks)};
  std::optional<RuleMismatch> found;
  World world({.ranks = ranks,
               .seed = options_.seed,
               .schedule = schedule,
               .arithmetic = arithmetic_of(options_.values)});
  Outcome outcome = world.run([&](Rank& rank) {
    auto own = std::size_t(rank.id());
    DeviceMesh mesh = init_device_mesh(sizes_.mesh);
    KeepUnrounded sums;
    run_rank(own, &mesh, of_outputs, results);
    barrier(ProcessGroup::world());
    if (own == 0) found = look(results);
    barrier(ProcessGroup::world());
    results.outputs[own].clear();
    results.gradients[own].clear();
  });
  results = {};
  if (outcome.ok()) return found;
  const Failure& failure = *outcome.failure;
  if (failure.kind == Failure::Kind::error && failure.exception) {
    try {
      std::rethrow_exception(failure.exception);
    } catch (const std::exception& error) {
      return raised(std::size_t(failure.rank), sizes_.mesh, text_of(error));
    }
  }
  return RuleMismatch{
      .what = "ranks",
      .problem = fmt::format("under the schedule {}: {}", outcome.repro.schedule, failure.message)};
}

std::optional<RuleMismatch> RuleTrial::run_ranks(const ByOutputAndRank& of_outputs,
                                                 const Look& look) const {
  if (function_.communicates()) {
    for (const Schedule& schedule : options_.schedules)
      if (auto found = run_world(of_outputs, schedule, look)) return found;
    return std::nullopt;
  }
  ArithmeticScope arithmetic(arithmetic_of(options_.values));
  KeepUnrounded sums;
  std::size_t ranks = std::size_t(numel(sizes_.mesh));
  OfRanks results{std::vector<Tensors>(ranks), std::vector<Tensors>(ranks)};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    try {
      run_rank(rank, nullptr, of_outputs, results);
    } catch (const std::exception& error) {
      return raised(rank, sizes_.mesh, text_of(error));
    }
  }
  return look(results);
}

std::optional<RuleMismatch> RuleTrial::compare_outputs(const OfRanks& ranks,
                                                       gsl::span<const RuleRow> rows) const {
  for (const Tensors& own : ranks.outputs)
    if (own.size() != outputs_.size())
      return RuleMismatch{
          .what = "outputs",
          .problem = fmt::format("expected {}, got {}", outputs_.size(), own.size())};
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Placements placements;
    for (const RuleRow& row : rows) placements.push_back(row.outputs[i]);
    if (auto found = compare_pieces(fmt::format("output {}", i), outputs_[i], ranks.output(i),
                                    placements, sizes_.mesh))
      return found;
  }
  return std::nullopt;
}

std::optional<RuleMismatch> RuleTrial::judge(gsl::span<const RuleRow> rows, bool backward) const {
  ArithmeticScope arithmetic(arithmetic_of(options_.values));
  bool differentiates = backward && std::all_of(rows.begin(), rows.end(), only_adds) &&
                        std::find(is_differentiable_.begin(), is_differentiable_.end(), true) !=
                            is_differentiable_.end();
  if (!differentiates)
    return run_ranks({}, [&](const OfRanks& ranks) { return compare_outputs(ranks, rows); });
  Tensors drawn(outputs_.size());
  ByOutputAndRank given(outputs_.size());
  RuleDraw draw(options_.values, options_.seed * 2 + 1);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!is_differentiable_[i]) continue;
    drawn[i] = draw.draw(outputs_[i].shape(), outputs_[i].dtype());
    bool fits = std::all_of(rows.begin(), rows.end(), [&](const RuleRow& row) {
      return !row.outputs[i].splits() || row.outputs[i].dim() < outputs_[i].dim();
    });
    if (fits) given[i] = cut_gradient(drawn[i], i, rows, sizes_.mesh);
  }
  Tensors expected = gradients_of_whole(drawn);
  return run_ranks(given, [&](const OfRanks& ranks) {
    auto found = compare_outputs(ranks, rows);
    for (std::size_t i = 0; i < whole_.size() && !found; ++i) {
      if (!is_floating_point(whole_[i].dtype())) continue;
      Placements placements;
      for (const RuleRow& row : rows) placements.push_back(gradient_placement(row, row.inputs[i]));
      found = compare_pieces(fmt::format("gradient of input {}", i), expected[i].contiguous(),
                             ranks.gradient(i), placements, sizes_.mesh);
    }
    return found;
  });
}

std::optional<std::vector<std::vector<Placement>>> RuleTrial::holding(
    const std::vector<std::vector<Placement>>& candidates) const {
  std::vector<std::vector<Placement>> held(candidates.size());
  auto problem = run_ranks({}, [&](const OfRanks& ranks) -> std::optional<RuleMismatch> {
    for (std::vector<Placement>& list : held) list.clear();
    for (const Tensors& own : ranks.outputs)
      if (own.size() != outputs_.size()) return RuleMismatch{.what = "outputs"};
    for (std::size_t i = 0; i < candidates.size(); ++i)
      for (const Placement& placement : candidates[i])
        if (!compare_pieces("", outputs_[i], ranks.output(i), Placements{placement}, sizes_.mesh))
          held[i].push_back(placement);
    return std::nullopt;
  });
  if (problem) return std::nullopt;
  return held;
}

}  // namespace simmesh
