#pragma once

#include <functional>
#include <optional>

#include "sharding/rules/rule_difference.h"
#include "sharding/rules/rule_function.h"
#include "sharding/rules/rule_options.h"

namespace simmesh {

// RulePlacements has for each tensor its placements, one a mesh dim.
using RulePlacements = std::vector<Placements>;

// RuleTrial is a function at certain sizes, on a mesh, with given placements of its inputs.
//
// It runs on whole inputs first. Then a run on the ranks' pieces computes outputs and, for drawn
// gradients of the outputs, gradients of the inputs; the tensors of the ranks are compared while
// they are alive, since they carry unrounded sums.
class RuleTrial {
 public:
  // Refused is raised where the function raises for the whole inputs; its text is the error's.
  struct Refused {
    std::string why;
  };
  struct Sizes {
    RuleShapes shapes;  // of the whole inputs
    Shape mesh;
  };

  RuleTrial(const RuleFunction& function, gsl::span<const RuleInput> inputs, Sizes sizes,
            RulePlacements placements, const CheckRuleOptions& options);

  std::size_t output_count() const { return outputs_.size(); }
  std::int64_t output_dims(std::size_t output) const { return outputs_[output].dim(); }

  // judge returns the first mismatch of the outputs and, if it is asked for, of the gradients, for
  // one row on each mesh dim.
  std::optional<RuleMismatch> judge(gsl::span<const RuleRow> rows, bool backward) const;

  // holding returns for each output those of the placements along the one mesh dim that hold;
  // nothing where the function raises on a rank.
  std::optional<std::vector<std::vector<Placement>>> holding(
      const std::vector<std::vector<Placement>>& candidates) const;

 private:
  struct OfRanks;
  using Look = std::function<std::optional<RuleMismatch>(const OfRanks& ranks)>;

  // run_ranks runs the function on all ranks, backward where gradients of outputs are given by
  // output and rank, and returns what `look` finds, or a mismatch where a rank raises.
  std::optional<RuleMismatch> run_ranks(const std::vector<std::vector<Tensor>>& gradients,
                                        const Look& look) const;
  std::optional<RuleMismatch> run_world(const std::vector<std::vector<Tensor>>& gradients,
                                        const Schedule& schedule, const Look& look) const;
  void run_rank(std::size_t rank, const DeviceMesh* mesh,
                const std::vector<std::vector<Tensor>>& gradients, OfRanks& results) const;
  void run_whole();
  // run_on_one_rank runs a body on the mesh of one rank, for a function that communicates.
  void run_on_one_rank(const std::function<void(const DeviceMesh& mesh)>& body) const;
  std::vector<Tensor> gradients_of_whole(gsl::span<const Tensor> of_outputs) const;
  std::optional<RuleMismatch> compare_outputs(const OfRanks& ranks,
                                              gsl::span<const RuleRow> rows) const;

  const RuleFunction& function_;
  Sizes sizes_;
  const CheckRuleOptions& options_;
  std::vector<Tensor> whole_;                // the inputs
  std::vector<std::vector<Tensor>> pieces_;  // by input and rank
  std::vector<Tensor> outputs_;              // of the whole inputs
  std::vector<bool> is_differentiable_;      // by output
};

}  // namespace simmesh
