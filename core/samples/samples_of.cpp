#include "core/samples/samples_of.h"

#include <map>

#include "core/check/check.h"
#include "core/ops/registry/registry.h"
#include "core/samples/families.h"

namespace simmesh {

namespace {

using Table = std::map<const Op*, std::vector<const OpSample*>, std::less<const Op*>>;

Table joined() {
  Table table;
  for (const auto& list :
       {elementwise_samples(), indexing_samples(), matrix_samples(), neural_samples(),
        random_samples(), reduction_samples(), shape_samples()})
    for (const OpSample& sample : list) {
      const Op* op = find_op(sample.op);
      SIMMESH_CHECK(op, "a sample names {}, which is no op", sample.op);
      table[op].push_back(&sample);
    }
  return table;
}

}  // namespace

const std::vector<const OpSample*>& samples_of(const Op& op) {
  static const Table table = joined();
  static const std::vector<const OpSample*> none;
  auto found = table.find(&op);
  return found == table.end() ? none : found->second;
}

}  // namespace simmesh
