#include "sharding/validate/validate_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <new>
#include <set>

#include "core/check/check.h"
#include "core/engine/ranks/rank.h"
#include "core/gradients/gradient_of.h"
#include "core/ops/call.h"
#include "core/ops/registry/registry.h"
#include "core/samples/samples_of.h"
#include "sharding/strategies/strategy_of.h"
#include "sharding/validate/rule_text.h"
#include "sharding/validate/validation_sites.h"

// Rules that don't hold, of all families: each is added to those of its op, and must be refuted.
namespace simmesh {
namespace {

const Placement all = Replicate(), s0 = Shard(0), s1 = Shard(1), s2 = Shard(2);
const Placement sum_of = Partial(), average_of = Partial(ReduceOp::avg),
                largest_of = Partial(ReduceOp::max), least_of = Partial(ReduceOp::min),
                product_of = Partial(ReduceOp::product);

struct WrongRule {
  std::string_view op;
  std::string_view inputs;     // of the sample
  std::string_view arguments;  // that the sample's call has, as they are printed
  StrategyRow row;
};

const std::vector<WrongRule>& wrong_elementwise() {
  static const std::vector<WrongRule> rules = {
      {"exp", "ab", "", rule({sum_of}, sum_of)},
      {"relu", "ab", "", rule({sum_of}, sum_of)},
      {"abs", "ab", "", rule({largest_of}, largest_of)},
      {"neg", "ab", "", rule({largest_of}, largest_of)},
      {"floor", "ab", "", rule({sum_of}, sum_of)},
      {"sigmoid", "ab", "", rule({average_of}, average_of)},
      {"sqrt", "p:ab", "", rule({sum_of}, sum_of)},
      {"add", "ab ab", "", rule({sum_of, all}, sum_of)},
      {"add", "ab ab", "", rule({largest_of, largest_of}, largest_of)},
      {"add", "ab b", "", rule({s0, s0}, s0)},
      {"add", "ab", "other=3", rule({sum_of}, sum_of)},
      {"sub", "ab ab", "", rule({all, largest_of}, largest_of)},
      {"mul", "ab ab", "", rule({sum_of, sum_of}, sum_of)},
      {"mul", "ab ab", "", rule({all, largest_of}, largest_of)},
      {"div", "ab q:ab", "", rule({all, sum_of}, sum_of)},
      {"maximum", "ab ab", "", rule({sum_of, all}, sum_of)},
      {"minimum", "ab ab", "", rule({largest_of, largest_of}, largest_of)},
      {"where", "b:ab f:ab f:ab", "", rule({all, sum_of, all}, sum_of)},
      {"clamp", "ab", "min=-1", rule({sum_of}, sum_of)},
      {"fill", "ab", "value=3", rule({sum_of}, sum_of)},
      {"lt", "ab ab", "", rule({largest_of, all}, largest_of)},
      {"pow", "ab", "exponent=2", rule({sum_of}, sum_of)},
      {"_to_copy", "ab", "dtype=int64", rule({sum_of}, sum_of)},
      {"logical_not", "ab", "", rule({sum_of}, sum_of)},
  };
  return rules;
}

const std::vector<WrongRule>& wrong_reductions() {
  static const std::vector<WrongRule> rules = {
      {"sum", "f:ab", "dims=[0]", rule({s0}, all)},
      {"sum", "f:ab", "dims=[0]", rule({s0}, average_of)},
      {"sum", "f:ab", "dims=[0]", rule({s1}, s1)},
      {"mean", "d:ab", "dims=[0]", rule({s0}, average_of)},
      {"amax", "f:ab", "dims=[0]", rule({s0}, sum_of)},
      {"amax", "f:ab", "dims=[0]", rule({least_of}, least_of)},
      {"argmax", "ab", "dims=[-1]", rule({s1}, largest_of)},
      {"cumsum", "ab", "dim=0", rule({s0}, s0)},
      {"cumsum", "ab", "dim=-1", rule({s1}, s1)},
      {"logsumexp", "ab", "dims=[0]", rule({s0}, largest_of)},
      {"var", "ab", "dims=[0]", rule({s0}, average_of)},
      {"linalg_vector_norm", "ab", "ord=inf", rule({largest_of}, largest_of)},
      {"prod", "q:ab", "dims=[0]", rule({s0}, sum_of)},
      {"any", "b:ab", "dims=[0]", rule({s0}, product_of)},
      {"count_nonzero", "f:ab", "dims=[0]", rule({sum_of}, sum_of)},
      {"sort", "ab", "dim=0", rule({s0}, {s0, s0})},
      {"cummax", "ab", "dim=0", rule({s0}, {s0, s0})},
  };
  return rules;
}

const std::vector<WrongRule>& wrong_products() {
  static const std::vector<WrongRule> rules = {
      {"mm", "ab bc", "", rule({s1, s0}, all)},
      {"mm", "ab bc", "", rule({s0, all}, s1)},
      {"mm", "ab bc", "", rule({sum_of, sum_of}, sum_of)},
      {"addmm", "ac ab bc", "", rule({all, s1, s0}, sum_of)},
      {"bmm", "abc acd", "", rule({s0, all}, s0)},
      {"_softmax", "ab", "dim=0", rule({s0}, s0)},
      {"_log_softmax", "abc", "dim=-1", rule({s2}, s2)},
      {"mse_loss", "d:ab d:ab", "reduction=1", rule({s0, s0}, average_of)},
      {"nll_loss_forward", "ab i<b:a p:b", "reduction=1",
       rule({s0, s0, all}, {average_of, sum_of})},
      {"_fused_rms_norm", "abc -", "", rule({s2, std::nullopt}, {s2, all})},
  };
  return rules;
}

const std::vector<WrongRule>& wrong_shapes() {
  static const std::vector<WrongRule> rules = {
      {"embedding", "ab i<a:c", "", rule({s0, all}, sum_of)},
      {"gather", "ab i<a:cb", "dim=0", rule({s0, s0}, s0)},
      {"index_select", "ab i<a:c", "dim=0", rule({s0, all}, s0)},
      {"scatter_add", "ab i<a:cb f:cb", "dim=0", rule({s0, s0, s0}, s0)},
      {"tril", "ab", "diagonal=0", rule({s0}, s0)},
      {"flip", "ab", "dims=[0]", rule({s0}, s0)},
      {"roll", "ab", "dims=[0]", rule({s0}, s0)},
      {"cat", "ab cb", "dim=0", rule({s0, s0}, s0)},
      {"transpose", "abc", "dim0=0", rule({s0}, s0)},
      {"permute", "abc", "dims=[2, 0, 1]", rule({s0}, s0)},
      {"unsqueeze", "ab", "dim=0", rule({s0}, s0)},
      {"select", "3b", "index=1", rule({s1}, s1)},
  };
  return rules;
}

const OpSample* sample_of(const WrongRule& wrong) {
  for (const OpSample* sample : samples_of(*find_op(wrong.op)))
    if (sample->inputs == wrong.inputs &&
        validate_sample(Op{.name = "none"}, *sample).call.find(wrong.arguments) !=
            std::string::npos)
      return sample;
  return nullptr;
}

// The op with its own rules, where it has any, and the wrong one.
Op with_wrong_rule(const WrongRule& wrong) {
  const Op& original = *find_op(wrong.op);
  const ShardingStrategy* known = strategy_of(original);
  RowRule rows = known ? known->rows : RowRule();
  Op op = original;
  if (const Gradient* gradient = gradient_of(original)) op.gradient = *gradient;
  op.strategy = strategy(ShardingStrategy{.rows =
                                              [rows, row = wrong.row](const StrategyRequest& call) {
                                                StrategyRows all_rows;
                                                if (rows) all_rows = rows(call);
                                                all_rows.push_back(row);
                                                return all_rows;
                                              },
                                          .accepts_short_dims = true});
  return op;
}

void expect_refuted(const std::vector<WrongRule>& rules) {
  for (const WrongRule& wrong : rules) {
    SCOPED_TRACE(std::string(wrong.op) + " " + std::string(wrong.inputs));
    const OpSample* sample = sample_of(wrong);
    ASSERT_TRUE(sample);
    SampleVerdict verdict =
        validate_sample(with_wrong_rule(wrong), *sample, {.finds_missing = false});
    auto judged = verdict.rules.find(rule_text(wrong.row));
    ASSERT_NE(judged, verdict.rules.end());
    ASSERT_TRUE(judged->second.wrong) << judged->first;
    EXPECT_FALSE(judged->second.wrong->inputs.empty());
    EXPECT_FALSE(judged->second.wrong->what.empty());
  }
}

TEST(ValidateSample, RefutesWrongRulesOfElementwiseOps) { expect_refuted(wrong_elementwise()); }
TEST(ValidateSample, RefutesWrongRulesOfReductions) { expect_refuted(wrong_reductions()); }
TEST(ValidateSample, RefutesWrongRulesOfProductsAndLosses) { expect_refuted(wrong_products()); }
TEST(ValidateSample, RefutesWrongRulesOfShapesAndIndexing) { expect_refuted(wrong_shapes()); }

// If the tables shrank, fewer families would be covered than the pages say.
TEST(ValidateSample, RefutesFiftyAtLeast) {
  EXPECT_GE(wrong_elementwise().size() + wrong_reductions().size() + wrong_products().size() +
                wrong_shapes().size(),
            50u);
}

// If a rule were judged on even sizes only, a mean over uneven shards would pass.
TEST(ValidateSample, TheCounterExampleIsSmallAndUneven) {
  WrongRule mean = {"mean", "d:ab", "dims=[0]", rule({s0}, average_of)};
  SampleVerdict verdict = validate_sample(with_wrong_rule(mean), *sample_of(mean));
  const auto& wrong = verdict.rules["S(0) -> P(avg)"].wrong;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->mesh, "2");
  EXPECT_THAT(wrong->inputs, ::testing::StartsWith("float64[3, 5] S(0)"));
}

// If two mesh dims weren't combined, what is right on each could be wrong together.
TEST(ValidateSample, JudgesRulesOfTwoMeshDimsTogether) {
  Op op = *find_op("relu");
  ShardingStrategy claims{.rows =
                              [](const StrategyRequest&) {
                                return StrategyRows{rule({s0}, s0), rule({largest_of}, largest_of)};
                              },
                          .accepts_short_dims = true};
  op.strategy = strategy(claims);
  EXPECT_TRUE(validate_sample(op, {"relu", "ab"}).over_two_dims.empty());
  // A computation that is right on a mesh of one dim only.
  claims.compute = [](const LocalCall& call) {
    bool is_square = call.input_specs[0]->placements().size() > 1;
    return std::vector{is_square ? call.inputs[0]
                                 : simmesh::call_one(*find_op("relu"), call.inputs)};
  };
  op.strategy = strategy(claims);
  SampleVerdict verdict = validate_sample(op, {"relu", "ab"});
  EXPECT_FALSE(verdict.rules["S(0) -> S(0)"].wrong);
  EXPECT_TRUE(verdict.over_two_dims.at("[S(0),S(0)] -> [S(0),S(0)]").wrong);
}

// An op that breaks a contract of simmesh when it is called on anything but whole inputs.
Op broken_on_pieces(const OpSample& sample, StrategyRows claimed) {
  std::set<Shape> whole;
  for (const ValidationSite& site : validation_sites(sample, 0))
    whole.insert(sample_inputs(sample, site.sizes, site.data)[0].shape());
  Op op = *find_op("neg");
  op.kernel = [whole, kernel = op.kernel](auto inputs, const auto& attributes, auto outputs) {
    SIMMESH_CHECK(whole.count(inputs[0].shape()) > 0, "got a piece");
    kernel(inputs, attributes, outputs);
  };
  op.strategy = strategy(std::move(claimed));
  return op;
}

// If these fail, a defect of ours reads as "the op refuses such sizes" or "the rule doesn't hold",
// and a validator that can't judge a rule says that all is well.
TEST(ValidateSample, ABrokenContractOfAKernelIsNoVerdict) {
  OpSample sample = {"neg", "ab"};
  Op broken = *find_op("neg");
  broken.strategy = strategy({rule({s0}, s0)});
  broken.kernel = [](auto, const auto&, auto) { SIMMESH_CHECK(false, "got a call"); };
  EXPECT_THROW(validate_sample(broken, sample, {}), ContractViolation);
  broken.kernel = [](auto, const auto&, auto) { throw std::bad_alloc(); };
  EXPECT_THROW(validate_sample(broken, sample, {}), std::bad_alloc);

  EXPECT_THROW(
      validate_sample(broken_on_pieces(sample, {rule({s0}, s0)}), sample, {.finds_missing = false}),
      ContractViolation);
  EXPECT_THROW(validate_sample(broken_on_pieces(sample, {}), sample, {}), ContractViolation);
}

TEST(ValidateSample, ABrokenContractOfAStrategyIsNoVerdict) {
  OpSample sample = {"neg", "ab"};
  for (bool is_claimed : {true, false})
    for (bool communicates : {true, false}) {
      Op op = *find_op("neg");
      op.strategy =
          strategy({.rows =
                        [=](const StrategyRequest&) {
                          return is_claimed ? StrategyRows{rule({s0}, s0)} : StrategyRows();
                        },
                    .compute = [=](const LocalCall& call) -> std::vector<Tensor> {
                      if (communicates) this_rank();  // raises an Error outside of a world
                      SIMMESH_CHECK(false, "got a piece of {}", call.op.name);
                    }});
      // Unclaimed rules are tried outside of a world only: there they are refuted.
      if (!is_claimed && communicates)
        EXPECT_THAT(validate_sample(op, sample).missing, ::testing::IsEmpty());
      else
        EXPECT_THROW(validate_sample(op, sample), ContractViolation);
    }
}

}  // namespace
}  // namespace simmesh
