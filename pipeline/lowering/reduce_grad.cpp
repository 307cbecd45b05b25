#include "pipeline/lowering/reduce_grad.h"

#include <map>
#include <optional>

#include "core/check/error.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

constexpr const char* reduction_where = "pipeline/reduce_grad";

}  // namespace

Row add_reduce_grad(const Row& row, std::int64_t microbatches, bool defers_wait) {
  Row result;
  std::map<std::int64_t, std::int64_t> backwards;
  std::optional<std::int64_t> pending;
  auto add = [&](std::int64_t stage, ActionKind kind) { result.push_back({stage, kind}); };
  for (const Action& action : row) {
    if (action.is_idle()) continue;
    result.push_back(action);
    auto parts = action.kind == overlap_f_b ? action.leaves() : gsl::span(&action, 1);
    for (const Action& part : parts) {
      if (part.kind != full_backward && part.kind != backward_weight) continue;
      if (++backwards[part.stage] != microbatches) continue;
      if (pending) add(*pending, wait_reduce_grad);
      add(part.stage, reduce_grad);
      if (defers_wait)
        pending = part.stage;
      else
        add(part.stage, wait_reduce_grad);
    }
  }
  if (pending) add(*pending, wait_reduce_grad);
  return result;
}

void validate_reductions(const Row& row, std::int64_t rank) {
  std::optional<std::int64_t> pending;
  for (const Action& action : row) {
    for (const Action& leaf : action.leaves()) {
      if (leaf.kind == reduce_grad) {
        if (pending)
          raise(ErrorKind::value_error, reduction_where,
                "Rank {} cannot start REDUCE_GRAD for stage {} while stage {} has a pending "
                "reduction",
                rank, leaf.stage, *pending);
        pending = leaf.stage;
      } else if (leaf.kind == wait_reduce_grad) {
        if (!pending)
          raise(ErrorKind::value_error, reduction_where,
                "Rank {} has WAIT_REDUCE_GRAD for stage {} without a pending reduction", rank,
                leaf.stage);
        if (*pending != leaf.stage)
          raise(ErrorKind::value_error, reduction_where,
                "Rank {} has WAIT_REDUCE_GRAD for stage {}, but stage {} has the pending reduction",
                rank, leaf.stage, *pending);
        pending.reset();
      }
    }
  }
  if (pending)
    raise(ErrorKind::value_error, reduction_where,
          "Stage {} at rank {} has REDUCE_GRAD without WAIT_REDUCE_GRAD", *pending, rank);
}

}  // namespace simmesh::pipeline
