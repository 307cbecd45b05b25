#pragma once

#include <fmt/format.h>
#include <string>
#include <vector>

#include "sharding/paddle/spmd/spmd_rules.h"

// The answer of a rule, as text.
namespace simmesh::paddle::testing {

// tensor returns a tensor of that shape, cut by these mesh dims; sums are partial along `partial`.
inline SpmdTensor tensor(Shape shape, std::vector<Dims> cuts, const Dims& partial = {}) {
  SpmdTensor result{.shape = std::move(shape), .attr = {.dims_mapping = std::move(cuts)}};
  for (std::int64_t mesh_dim : partial) result.attr.partial_status.emplace(mesh_dim, ReduceOp::sum);
  return result;
}

// layouts_text joins layouts with " | "; those of a list are in brackets.
inline std::string layouts_text(const std::vector<SpmdLayout>& layouts) {
  std::vector<std::string> texts;
  for (const SpmdLayout& layout : layouts) {
    std::vector<std::string> attrs;
    for (const DistAttr& attr : layout.attrs) attrs.push_back(to_string(attr));
    std::string joined = fmt::format("{}", fmt::join(attrs, "; "));
    texts.push_back(layout.is_list ? "(" + joined + ")" : joined);
  }
  return fmt::format("{}", fmt::join(texts, " | "));
}

// asked returns "wanted inputs -> outputs", or why the rule refuses.
inline std::string asked(const SpmdCall& call) {
  try {
    SpmdAnswer answer = infer_spmd(call);
    return layouts_text(answer.inputs) + " -> " + layouts_text(answer.outputs);
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + std::string(error.message());
  }
}

}  // namespace simmesh::paddle::testing
