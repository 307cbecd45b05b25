#pragma once

#include <gsl/span>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/paddle/spmd/spmd_call.h"

namespace simmesh::paddle {

// SpmdRule is the sharding rule of an op, forward. A pure function of the call; it raises where it
// has no answer.
using SpmdRule = SpmdAnswer (*)(const SpmdCall& call);

// NamedSpmdRule is the rule of the op of that name, which is Paddle's.
struct NamedSpmdRule {
  std::string_view op;
  SpmdRule rule;
};

// infer_spmd runs the rule of the call's op. Raises a KeyError for an op without a rule, a
// ValueError for layouts that can't be on that mesh, and what the rule raises.
//
//   paddle::SpmdTensor cut{.shape = {8, 16}, .attr = {.dims_mapping = {{0}, {}}}};
//   paddle::SpmdAnswer answer =
//       paddle::infer_spmd({.op = "relu", .mesh_shape = {2, 2}, .inputs = {cut}});
SpmdAnswer infer_spmd(const SpmdCall& call);

// spmd_ops returns the names of all ops with a rule, in ascending order.
std::vector<std::string_view> spmd_ops();

// The rules, family by family: the file of the same name defines each.
gsl::span<const NamedSpmdRule> attention_spmd_rules();
gsl::span<const NamedSpmdRule> convolution_spmd_rules();
gsl::span<const NamedSpmdRule> data_parallel_spmd_rules();
gsl::span<const NamedSpmdRule> elementwise_spmd_rules();
gsl::span<const NamedSpmdRule> indexing_spmd_rules();
gsl::span<const NamedSpmdRule> joining_spmd_rules();
gsl::span<const NamedSpmdRule> loss_spmd_rules();
gsl::span<const NamedSpmdRule> normalization_spmd_rules();
gsl::span<const NamedSpmdRule> product_spmd_rules();
gsl::span<const NamedSpmdRule> reduction_spmd_rules();
gsl::span<const NamedSpmdRule> reshaping_spmd_rules();
gsl::span<const NamedSpmdRule> scattering_spmd_rules();
gsl::span<const NamedSpmdRule> whole_dim_spmd_rules();

}  // namespace simmesh::paddle
