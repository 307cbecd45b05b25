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
#include "sharding/parallel/expert_exchange.h"

namespace simmesh {

namespace {

using nn::ExpertTokens;
using Exchange = std::shared_ptr<const ExpertExchange>;
using Way = std::vector<Tensor> (ExpertExchange::*)(const std::vector<Tensor>& rows) const;

// Tokens is how a rank's x is distributed over the group.
struct Tokens {
  ProcessGroup group;
  std::optional<std::int64_t> cut_dim;
  std::int64_t ranks_per_node = 0;
};

Chunk own_experts(std::int64_t experts, const ProcessGroup& group) {
  return chunk_of({.size = experts, .parts = group.size(), .index = group.rank()});
}

// The numbers that this rank's tokens have on one device, and the number of all tokens.
struct TokenNumbers {
  std::vector<std::int64_t> own;
  std::int64_t count = 0;
};

TokenNumbers numbers_of(const Shape& own, const std::vector<Tensor>& of_ranks,
                        const Tokens& tokens) {
  auto dim = std::size_t(*tokens.cut_dim);
  std::int64_t start = 0, length = 0, inner = 1, outer = 1;
  for (std::int64_t rank = 0; rank < tokens.group.size(); ++rank) {
    if (rank < tokens.group.rank()) start += of_ranks[std::size_t(rank)].shape()[dim];
    length += of_ranks[std::size_t(rank)].shape()[dim];
  }
  for (std::size_t i = 0; i + 1 < own.size(); ++i)
    if (i != dim) (i < dim ? outer : inner) *= own[i];
  TokenNumbers result{{}, outer * length * inner};
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < own[dim] * inner; ++i)
      result.own.push_back((o * length + start) * inner + i);
  return result;
}

// Returns the tokens of this rank that each expert takes, where the choices of all tokens count.
std::vector<ExpertTokens> assigned_among_all(const nn::Moe& moe, const Tensor& chosen,
                                             const Shape& shape, const Tokens& tokens) {
  Shape own = shape;
  own.back() = moe.options().top_k;
  std::vector<Tensor> all = all_gather_list(reshape(chosen, own), tokens.group);
  TokenNumbers numbers = numbers_of(own, all, tokens);
  Tensor whole = reshape(cat(all, *tokens.cut_dim), {numbers.count, own.back()});
  std::vector<std::int64_t> places(std::size_t(numbers.count), -1);
  for (std::size_t i = 0; i < numbers.own.size(); ++i)
    places[std::size_t(numbers.own[i])] = std::int64_t(i);
  std::vector<ExpertTokens> result;
  for (const ExpertTokens& expert :
       nn::assign_tokens(whole, {moe.options().experts, moe.capacity_of(numbers.count)})) {
    ExpertTokens& kept = result.emplace_back();
    for (std::size_t i = 0; i < expert.tokens.size(); ++i) {
      std::int64_t place = places[std::size_t(expert.tokens[i])];
      if (place < 0) continue;
      kept.tokens.push_back(place);
      kept.slots.push_back(place * own.back() + expert.slots[i] % own.back());
    }
  }
  return result;
}

std::vector<ExpertTokens> assigned(nn::Moe& moe, const Tensor& chosen, const Shape& shape,
                                   const Tokens& tokens) {
  if (moe.token_part().sum) return moe.assign(chosen);
  if (tokens.cut_dim && moe.options().capacity_factor > 0)
    return assigned_among_all(moe, chosen, shape, tokens);
  return nn::assign_tokens(chosen, {moe.options().experts, moe.capacity_of(chosen.size(0))});
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
    results.push_back(there.rows[i].size(0) > 0 ? expert(there.rows[i]) : there.rows[i]);
  }
  Tensor link = there.link.requires_grad() ? there.link : new_link(dtype, true);
  return moved("experts_to_tokens", exchange, &ExpertExchange::to_tokens,
               &ExpertExchange::to_owners, results, link)
      .rows;
}

// The steps of nn::Moe, in its order, which is also the order on the tape. Experts without rows of
// this rank are not left out: they may have rows of others.
Tensor mixed(nn::Moe& moe, const Tensor& x, const Tokens& where) {
  const nn::Moe::Options& options = moe.options();
  Tensor tokens = reshape(x, {-1, options.width});
  nn::Moe::Routing routing = moe.route(tokens);
  Tensor shares = reshape(routing.shares, {-1});
  std::vector<ExpertTokens> experts = assigned(moe, routing.experts, x.shape(), where);
  ExpertRows layout = rows_of(experts, options.top_k, tokens);
  Exchange exchange;
  if (where.cut_dim)
    exchange = std::make_shared<TokenExchange>(layout, where.group, where.ranks_per_node);
  else
    exchange = std::make_shared<TokenReplicas>(layout, where.group);
  std::vector<Tensor> rows;
  for (const ExpertTokens& expert : experts)
    rows.push_back(index_select(tokens, 0, nn::index_tensor(expert.tokens)));
  std::vector<Tensor> results =
      results_of(moe, rows, exchange, own_experts(options.experts, where.group), tokens);
  Tensor total = zeros_like(tokens);
  for (std::size_t i = 0; i < experts.size(); ++i) {
    Tensor share = unsqueeze(index_select(shares, 0, nn::index_tensor(experts[i].slots)), 1);
    total = index_add(total, 0, nn::index_tensor(experts[i].tokens), mul(results[i], share));
  }
  return reshape(moe.with_shared(total, tokens), x.shape());
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

std::optional<std::int64_t> cut_dim_of(const Placement& tokens) {
  if (tokens.is_replicate()) return std::nullopt;
  if (tokens.is_shard() && tokens.dim() >= 0) return tokens.dim();
  raise(ErrorKind::value_error, "sharding/expert_parallel",
        "expected tokens that are cut along a dim from 0 on, or replicated, got {}",
        to_string(tokens));
}

}  // namespace

void ExpertParallel::apply(nn::Module& module, const DeviceMesh& mesh) const {
  // A group of its own: other code reduces gradients over the same ranks while experts exchange
  // rows, in an order that depends on the rows.
  ProcessGroup group = ProcessGroup::of(process_group(mesh).members(), "experts");
  Tokens where{group, cut_dim_of(tokens), ranks_per_node};
  bool found = false;
  for (const auto& [path, below] : module.named_modules()) {
    auto* moe = dynamic_cast<nn::Moe*>(below);
    if (!moe) continue;
    found = true;
    drop_experts(*moe, own_experts(moe->options().experts, where.group));
    moe->set_mix([where](nn::Moe& self, const Tensor& x) { return mixed(self, x, where); });
  }
  if (!found)
    raise(ErrorKind::value_error, "sharding/expert_parallel",
          "expected a module with an nn::Moe, got one without");
}

bool is_expert_parameter(nn::Module& module, std::string_view path) {
  for (const auto& [prefix, below] : module.named_modules()) {
    std::string experts = prefix.empty() ? "experts." : prefix + ".experts.";
    if (dynamic_cast<nn::Moe*>(below) && path.substr(0, experts.size()) == experts) return true;
  }
  return false;
}

}  // namespace simmesh
