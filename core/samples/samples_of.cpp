#include "core/samples/samples_of.h"

#include <map>

#include "core/check/check.h"
#include "core/ops/registry/registry.h"
#include "core/samples/sample_list.h"

namespace simmesh {

namespace {

using Table = std::map<const Op*, std::vector<const OpSample*>, std::less<const Op*>>;

Table joined() {
  static const SampleList samples = collected_samples();
  Table table;
  for (const OpSample& sample : samples.all()) {
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
