#pragma once

#include <functional>

#include "core/nn/activation.h"
#include "core/nn/init.h"
#include "core/nn/module.h"
#include "core/nn/moe_batch.h"
#include "core/nn/router.h"

namespace simmesh::nn {

// Moe is a mixture of experts over the tokens of x [..., width]. The router (a linear layer without
// bias) scores the experts for each token; the token goes to its top_k experts and gets their
// results weighted by its shares (see RouterOptions). An expert takes at most its capacity of
// tokens; the others go without it. Shared experts see all tokens, and their results are added as
// they are. Children: router, experts (expert0, ...), shared (shared0, ...). A router with a bias
// has it in the buffer expert_bias, float32 [experts], zeros at first.
//
// Capacity, loads and losses are those of the tokens of one call, or of the batch that set_batch
// gives. The losses are no output: backward adds their gradients to those of the outputs.
class Moe final : public Module {
 public:
  // Options are the sizes of the experts, perceptrons width -> hidden -> width, and how many there
  // are: those of the router, of which a token has top_k, and shared ones.
  struct Options {
    std::int64_t width;
    std::int64_t hidden;
    std::int64_t experts;
    std::int64_t top_k = 2;
    std::int64_t shared = 0;
    // An expert's capacity is ceil(tokens * top_k / experts * factor); no limit for 0.
    double capacity_factor = 0.0;
    ActivationKind activation = ActivationKind::silu;
    // Experts, shared ones too, are nn::GatedMlp, without biases, instead of two linear layers.
    bool gated = false;
    ParameterOptions parameters = {};
    RouterOptions router = {};
  };

  // Raises a ValueError for a top_k that is no number of experts, and for groups that don't divide
  // the experts or leave fewer than top_k of them.
  explicit Moe(const Options& options);
  Tensors forward(const Tensors& inputs) override;

  // Mix takes x to the combined results of the experts.
  using Mix = std::function<Tensor(Moe& self, const Tensor& x)>;
  // set_mix replaces forward, for instance where the experts are spread over ranks. The functions
  // below are its steps.
  void set_mix(Mix mix) { mix_ = std::move(mix); }

  const Options& options() const { return options_; }
  // route returns the routing of tokens [tokens, width], which come from an x of this shape;
  // without scores and logits where neither a capacity, a loss nor a batch looks at them.
  Routing route(const Tensor& tokens, const Shape& x = {});
  // capacity_of returns how many of so many tokens an expert takes; 0 for no limit.
  std::int64_t capacity_of(std::int64_t tokens) const;
  // needs_batch is true if a call depends on all tokens of its batch: by a capacity or a loss.
  bool needs_batch() const;
  // decide returns which tokens of x each expert takes.
  RoutingDecision decide(const Routing& routing, const Shape& x);
  // complete returns the total with the results of the shared experts added, and with the losses of
  // the router, if any.
  Tensor complete(Tensor total, const Tensor& tokens, const Routing& routing,
                  const RoutingDecision& decision);

  // set_batch sets what knows the batch of the calls, and outlives them; null: the tokens of a call
  // are a batch.
  void set_batch(MoeBatch* batch) { batch_ = batch; }
  MoeBatch* batch() const { return batch_; }
  // call_every_expert makes experts run without rows where they get none. Their parameters then
  // have gradients of zero instead of none, so that ranks with other tokens have gradients of the
  // same parameters.
  void call_every_expert() { calls_every_expert_ = true; }
  bool calls_every_expert() const { return calls_every_expert_; }
  // bias returns the buffer expert_bias; undefined for a router without one.
  Tensor bias();
  void set_bias(const Tensor& bias);

 private:
  Tensor mixed(const Tensor& tokens, const Shape& x);

  Options options_;
  Mix mix_;
  MoeBatch* batch_ = nullptr;
  bool calls_every_expert_ = false;
};

}  // namespace simmesh::nn
