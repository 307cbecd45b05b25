#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/arithmetic/sums/carried_sums.h"
#include "core/nn/moe.h"
#include "sharding/parallel/token_ranking.h"
#include "training/router_needs.h"
#include "training/training.h"

namespace simmesh {

// RouterBatch gives the experts of a model one batch: all tokens of a training step, over the ranks
// and the micro-batches. Capacities, loads, losses of routers and their biases are those of one
// device that sees the whole step at once, whatever the cut and the number of micro-batches.
//
// Tokens are numbered by their row in the step and their position (see TokenRanking). With one
// micro-batch a decision is made in its forward pass. With several, capacities and loads depend on
// tokens that come later. So the step begins with a plan: a forward pass without gradients over all
// of the rank's rows, whose decisions the micro-batches then follow. Losses without loads, and
// biases, need no plan. A recomputation in backward follows the decision of its forward pass.
//
// The gradient of a loss is that of the whole step's loss. Biases move once a step, by the choices
// of all tokens before any is dropped.
class RouterBatch final : public nn::MoeBatch {
 public:
  // All arguments outlive it. Raises a ValueError for a plan of a model with dropout, which draws
  // by the micro-batch.
  RouterBatch(nn::Module& model, const TrainingTask& task, const ParallelForm& form);
  // In a pipeline the model is what this rank has of it, and `run_whole` runs a forward pass of all
  // stages.
  using RunWhole = std::function<void(const Tensor& input)>;
  RouterBatch(nn::Module& model, const TrainingTask& task, const ParallelForm& form,
              const RouterNeeds& needs, RunWhole run_whole);
  ~RouterBatch() override;
  RouterBatch(const RouterBatch&) = delete;
  RouterBatch& operator=(const RouterBatch&) = delete;

  // All ranks call these together: at the begin of a step, before each forward pass, and after the
  // last backward pass of a step. In a pipeline it is called before each backward pass, too.
  void begin_step(std::int64_t step);
  void begin_micro_batch(std::int64_t micro_batch) { current_ = std::size_t(micro_batch); }
  void end_step();

  // has_losses is true if routers add losses. loss_of returns their sum in a step, counted from the
  // first one of the run; all ranks call it together.
  bool has_losses() const { return needs_.loss; }
  double loss_of(std::size_t step) const;

  std::vector<std::int64_t> numbers(const nn::Moe& moe, const Shape& x) override;
  nn::RoutingDecision decide(const nn::Moe& moe, const nn::Routing& routing,
                             const Shape& x) override;
  double add_terms(const nn::Moe& moe, const Tensor& terms) override;

 private:
  // A call of a module in a forward pass, with the choices by which a recomputation finds it.
  struct Call {
    Tensor experts, chosen;
    nn::RoutingDecision decision;
  };
  using Calls = std::vector<Call>;
  struct Router {
    nn::Moe* moe;
    std::string path = {};
    Calls plan = {};
    std::map<std::size_t, Calls> calls = {};  // by micro-batch
    std::vector<Tensor> terms = {};           // of the step
    std::vector<std::int64_t> loads = {};     // of the step's tokens of this rank
    std::int64_t tokens = 0;                  // of the whole step
  };
  struct StepLoss {
    std::string path;
    std::int64_t tokens;
    double value;                    // over this rank's tokens, rounded
    std::vector<CarriedSums> exact;  // one sum in exact arithmetic, else none
  };
  struct MicroBatch {
    std::int64_t start, rows;
  };

  Router& router_of(const nn::Moe& moe);
  Calls& calls_of(Router& router) { return router.calls[current_]; }
  std::vector<double> losses_of(const std::vector<StepLoss>& own) const;
  void make_plan(std::int64_t step);
  nn::RoutingDecision new_decision(Router& router, const nn::Routing& routing, const Shape& x);
  nn::RoutingDecision planned(Router& router, const nn::Routing& routing);
  const TokenRanking& ranking(bool by_position);
  void numbers_of(const MicroBatch& micro, bool by_position, TokenNumbers& numbers) const;
  std::int64_t tokens_of_step(const Shape& x) const;
  StepLoss step_loss(const Router& router) const;

  const TrainingTask& task_;
  const ParallelForm& form_;
  std::vector<Router> routers_;
  RouterNeeds needs_;
  RunWhole run_whole_;
  bool is_planning_ = false;
  std::vector<MicroBatch> micro_batches_;  // of the step
  std::int64_t positions_ = 1;
  std::size_t current_ = 0;
  std::map<std::vector<std::int64_t>, TokenRanking> rankings_;  // by what the numbers depend on
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> numbers_;  // of forced balances
  std::vector<std::vector<StepLoss>> losses_;
};

}  // namespace simmesh
