#include "sharding/parallel/expert_parallel.h"

#include <numeric>

#include "collectives/collectives.h"
#include "core/autograd/function.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/nn/moe_routing.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/chunk.h"
#include "core/tensor/known_tensor.h"
#include "core/tensor/vector_of.h"
#include "sharding/parallel/colwise_parallel.h"
#include "sharding/parallel/expert_exchange.h"
#include "sharding/parallel/parallelize.h"
#include "sharding/parallel/rowwise_parallel.h"
#include "sharding/parallel/token_ranking.h"

namespace simmesh {

namespace {

using nn::ExpertTokens;
using Exchange = std::shared_ptr<const ExpertExchange>;
using Way = std::vector<Tensor> (ExpertExchange::*)(const std::vector<Tensor>& rows) const;

// Tokens is how a rank's x is distributed over the ranks of the experts, and of their columns.
struct Tokens {
  ProcessGroup group;
  std::optional<ProcessGroup> columns;
  std::optional<std::int64_t> cut_dim;
  RowRoute route;
};

Chunk own_experts(std::int64_t experts, const ProcessGroup& group) {
  return chunk_of({.size = experts, .parts = group.size(), .index = group.rank()});
}

// Returns the decision for this rank's tokens. Without a batch of its own, all tokens of the group
// are the batch of a module.
nn::RoutingDecision decided(nn::Moe& moe, const nn::Routing& routing, const Shape& x,
                            const Tokens& tokens) {
  if (moe.batch() || !tokens.cut_dim || !moe.needs_batch()) return moe.decide(routing, x);
  std::int64_t dim = *tokens.cut_dim;
  const ProcessGroup& group = tokens.group;
  Tensor lengths = all_gather(vector_of<std::int64_t>({x[std::size_t(dim)]}), {.dim = 0}, group);
  std::int64_t parts = group.size(), part = group.rank();
  if (tokens.columns) {
    lengths = all_gather(lengths, {.dim = 0}, *tokens.columns);
    part += tokens.columns->rank() * parts;
  }
  lengths = known_tensor(lengths, "numbers of tokens");
  // Without values all ranks count as having as many tokens as this one.
  std::vector<std::int64_t> each(std::size_t(lengths.numel()), x[std::size_t(dim)]);
  if (lengths.has_elements()) {
    auto values = lengths.values<std::int64_t>();
    each.assign(values.begin(), values.end());
  }
  TokenRanking ranking(numbers_along(dim, x, each, part), [&](const Tensor& value) {
    Tensor sum = all_reduce(value, ReduceOp::sum, group);
    return tokens.columns ? all_reduce(sum, ReduceOp::sum, *tokens.columns) : sum;
  });
  return ranking.decide(moe, routing);
}

ExpertRows rows_of(const std::vector<ExpertTokens>& experts, std::int64_t choices,
                   const Tensor& tokens) {
  ExpertRows result{{}, tokens.size(1), tokens.dtype()};
  for (const ExpertTokens& expert : experts) {
    auto& counts = result.counts.emplace_back(static_cast<std::size_t>(choices), 0);
    for (std::int64_t slot : expert.slots) ++counts[std::size_t(slot % choices)];
  }
  return result;
}

// An exchange that is on the tape. It is recorded on all ranks or on none, whatever rows they have,
// so that all of them take part in its gradient.
struct Moved {
  std::vector<Tensor> rows;
  Tensor link;  // no element; leads to the node also where there are no rows
};

Moved moved(const char* name, const Exchange& exchange, Way way, Way back,
            const std::vector<Tensor>& rows, const Tensor& link) {
  std::vector<Tensor> plain, inputs = rows;
  for (const Tensor& one : rows) plain.push_back(one.detach());
  inputs.push_back(link);
  Moved result{((*exchange).*way)(plain), empty({0}, link.dtype())};
  std::vector<TensorType> types;
  std::vector<Tensor*> outputs;
  for (Tensor& output : result.rows) {
    types.push_back(type_of(output));
    outputs.push_back(&output);
  }
  outputs.push_back(&result.link);
  record_function(
      name, inputs, outputs, [=](const std::vector<Tensor>& gradients) -> std::vector<Tensor> {
        std::vector<Tensor> given;
        for (std::size_t i = 0; i < types.size(); ++i)
          given.push_back(gradients[i].is_defined() ? gradients[i]
                                                    : zeros(types[i].shape, types[i].dtype));
        std::vector<Tensor> results = ((*exchange).*back)(given);
        results.emplace_back();
        return results;
      });
  return result;
}

// A tensor without elements, by which ranks without rows take part in backward.
Tensor new_link(DType dtype, bool is_leaf) {
  Tensor link = empty({0}, dtype);
  if (is_leaf && grad_enabled()) set_requires_grad(link);
  return link;
}

// Returns the result of each expert for this rank's rows.
std::vector<Tensor> results_of(nn::Moe& moe, const std::vector<Tensor>& rows,
                               const Exchange& exchange, const Chunk& own, const Tensor& tokens) {
  DType dtype = tokens.dtype();
  Moved there = moved("tokens_to_experts", exchange, &ExpertExchange::to_owners,
                      &ExpertExchange::to_tokens, rows, new_link(dtype, tokens.requires_grad()));
  const auto& experts = moe.child("experts").children();
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < there.rows.size(); ++i) {
    nn::Module& expert = *experts[std::size_t(own.start) + i].second;
    bool is_called = there.rows[i].size(0) > 0 || moe.calls_every_expert();
    results.push_back(is_called ? expert(there.rows[i]) : there.rows[i]);
  }
  Tensor link = there.link.requires_grad() ? there.link : new_link(dtype, true);
  return moved("experts_to_tokens", exchange, &ExpertExchange::to_tokens,
               &ExpertExchange::to_owners, results, link)
      .rows;
}

Exchange exchange_of(const ExpertRows& layout, const Tokens& where) {
  if (!where.cut_dim) return std::make_shared<TokenReplicas>(layout, where.group);
  TokenExchange tokens(layout, where.group, where.route);
  if (!where.columns) return std::make_shared<TokenExchange>(std::move(tokens));
  return std::make_shared<ColumnExchange>(layout, std::move(tokens), *where.columns);
}

// The steps of nn::Moe, in its order, which is also the order on the tape. Experts without rows of
// this rank are not left out: they may have rows of others.
Tensor mixed(nn::Moe& moe, const Tensor& x, const Tokens& where) {
  const nn::Moe::Options& options = moe.options();
  Tensor tokens = reshape(x, {-1, options.width});
  nn::Routing routing = moe.route(tokens, x.shape());
  Tensor shares = reshape(routing.shares, {-1});
  nn::RoutingDecision decision = decided(moe, routing, x.shape(), where);
  const std::vector<ExpertTokens>& experts = decision.experts;
  ExpertRows layout = rows_of(experts, options.top_k, tokens);
  Exchange exchange = exchange_of(layout, where);
  std::vector<Tensor> rows;
  for (const ExpertTokens& expert : experts)
    rows.push_back(index_select(tokens, 0, vector_of<std::int64_t>(expert.tokens)));
  std::vector<Tensor> results =
      results_of(moe, rows, exchange, own_experts(options.experts, where.group), tokens);
  Tensor total = zeros_like(tokens);
  for (std::size_t i = 0; i < experts.size(); ++i) {
    Tensor share = unsqueeze(index_select(shares, 0, vector_of<std::int64_t>(experts[i].slots)), 1);
    total = index_add(total, 0, vector_of<std::int64_t>(experts[i].tokens), mul(results[i], share));
  }
  return reshape(moe.complete(total, tokens, routing, decision), x.shape());
}

void drop_experts(nn::Moe& moe, const Chunk& kept) {
  const auto& experts = moe.child("experts").children();
  for (std::size_t i = 0; i < experts.size(); ++i) {
    auto index = std::int64_t(i);
    if (index >= kept.start && index < kept.start + kept.length) continue;
    for (const auto& [path, below] : experts[i].second->named_modules())
      for (nn::ParameterSlot& slot : below->slots()) slot.tensor = Tensor();
  }
}

void split_experts(nn::Moe& moe, const Chunk& kept, const DeviceMesh& columns) {
  const auto& experts = moe.child("experts").children();
  ParallelizePlan plan = {{"fc1", ColwiseParallel()}, {"fc2", RowwiseParallel()}};
  if (moe.options().gated)
    plan = {{"w1", ColwiseParallel()}, {"w3", ColwiseParallel()}, {"w2", RowwiseParallel()}};
  for (std::int64_t i = kept.start; i < kept.start + kept.length; ++i)
    parallelize(*experts[std::size_t(i)].second, columns, plan);
}

std::optional<std::int64_t> cut_dim_of(const Placement& tokens) {
  if (tokens.is_replicate()) return std::nullopt;
  if (tokens.is_shard() && tokens.dim() >= 0) return tokens.dim();
  raise(ErrorKind::value_error, "sharding/expert_parallel",
        "expected tokens that are cut along a dim from 0 on, or replicated, got {}",
        to_string(tokens));
}

// Returns a child, or null for a name that no child has.
nn::Module* child_named(nn::Module& module, std::string_view name) {
  for (const auto& [known, child] : module.children())
    if (known == name) return child.get();
  return nullptr;
}

}  // namespace

void ExpertParallel::apply(nn::Module& module, const DeviceMesh& mesh) const {
  // A group of its own: other code reduces gradients over the same ranks while experts exchange
  // rows, in an order that depends on the rows.
  ProcessGroup group = ProcessGroup::of(process_group(mesh).members(), "experts");
  Tokens where{group, {}, cut_dim_of(tokens), route};
  if (columns)
    where.columns = ProcessGroup::of(process_group(*columns).members(), "expert_columns");
  bool found = false;
  for (const auto& [path, below] : module.named_modules()) {
    auto* moe = dynamic_cast<nn::Moe*>(below);
    if (!moe) continue;
    found = true;
    Chunk own = own_experts(moe->options().experts, where.group);
    drop_experts(*moe, own);
    if (columns) split_experts(*moe, own, *columns);
    moe->set_mix([where](nn::Moe& self, const Tensor& x) { return mixed(self, x, where); });
  }
  if (!found)
    raise(ErrorKind::value_error, "sharding/expert_parallel",
          "expected a module with an nn::Moe, got one without");
}

bool is_expert_parameter(nn::Module& module, std::string_view path) {
  nn::Module* below = &module;
  while (below) {
    std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) return false;
    std::string_view name = path.substr(0, dot);
    if (name == "experts" && dynamic_cast<nn::Moe*>(below)) return true;
    path.remove_prefix(dot + 1);
    below = child_named(*below, name);
  }
  return false;
}

}  // namespace simmesh
