#include "sharding/strategies/table_lookup.h"

#include <algorithm>
#include <cstring>

#include "core/engine/run/known.h"
#include "core/ops/call.h"
#include "core/ops/kernels/places.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/convert.h"
#include "core/tensor/vector_of.h"
#include "sharding/placement/local_shape.h"

namespace simmesh {

namespace {

// The places in a rank's piece of the indices of a table; -1 for those that it doesn't hold.
class HeldRows {
 public:
  HeldRows(const DTensorSpec& table, std::int64_t dim)
      : runs_(local_index_runs(table.shape, dim, table.mesh().shape(), table.groups->coordinate(),
                               table.placements(), table.sharding.order)) {}

  std::int64_t count() const { return index_count(runs_); }

  std::int64_t place_of(std::int64_t index) const {
    std::int64_t before = 0;
    for (const IndexRun& run : runs_) {
      if (index >= run.start && index < run.end()) return before + index - run.start;
      before += run.length;
    }
    return -1;
  }

 private:
  IndexRuns runs_;
};

// Returns zeros in place of each row that isn't held. A row of an output is what one index reads.
Tensor without_absent(const Tensor& found, const Places& places) {
  Tensor result = found.contiguous();
  if (!result.has_elements() || result.bytes() == 0) return result;
  std::size_t row_bytes = result.bytes() / places.size();
  std::byte* row = result.mutable_data();
  for (std::int64_t place : places) {
    if (place < 0) std::memset(row, 0, row_bytes);
    row += row_bytes;
  }
  return result;
}

}  // namespace

StrategyRow lookup_row(const StrategyRequest& call, std::int64_t dim) {
  Placement lookup = MaskPartial(ReduceOp::sum, call.inputs[0].shape, dim);
  return splitting_rule({Shard(dim), lookup}, lookup);
}

std::vector<Tensor> looked_up(const LocalCall& call, std::int64_t dim) {
  const DTensorSpec& table = *call.input_specs[0];
  bool is_cut = std::any_of(table.placements().begin(), table.placements().end(),
                            [dim](const Placement& one) { return one.splits(dim); });
  if (!is_cut) return simmesh::call(call.op, call.inputs, call.attributes);
  HeldRows held(table, dim);
  Places places;
  auto read_places = [&] {
    places = checked_indices(
        call.inputs[1], {.dim = dim, .size = table.shape[std::size_t(dim)], .where = call.op.name});
  };
  tell_error(call.op.name, read_places);
  if (places.empty()) read_places();
  for (std::int64_t& place : places) place = held.place_of(place);
  if (held.count() == 0) {
    TensorTypes types = infer_types(call.op, types_of(call.inputs), call.attributes);
    return {zeros(types[0].shape, types[0].dtype)};
  }
  Places read = places;
  for (std::int64_t& place : read) place = std::max<std::int64_t>(place, 0);
  Tensor inputs[] = {call.inputs[0], vector_of<std::int64_t>(read).view(call.inputs[1].shape())};
  Tensor found = simmesh::call(call.op, inputs, call.attributes)[0];
  return {without_absent(found, places)};
}

}  // namespace simmesh
