#include "replay/validate/check_resources.h"

#include <fmt/format.h>
#include <string>

#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

const RankTrace* trace_of(const TraceJob& job, const TraceResource& resource) {
  for (const RankTrace& rank : job.ranks)
    if (resources_name(rank.file) == resource.trace) return &rank;
  return nullptr;
}

void check_tensor(const RankTrace& rank, const TraceResource& resource, Findings& findings) {
  const TraceNode* node = rank.trace.find(*resource.node);
  auto warn = [&](std::string message) {
    findings.push_back(warning_at("resource",
                                  {.rank = rank.rank, .node = resource.node, .field = "inputs"},
                                  fmt::format("{}: {}", resource.file, message)));
  };
  if (!node) return warn("expected a node of the trace, which doesn't have it");
  auto inputs = rank.trace.tensors_in(node->inputs);
  if (resource.tensor < 0 || resource.tensor >= std::int64_t(inputs.size()))
    return warn(
        fmt::format("expected one of {} tensors, got number {}", inputs.size(), resource.tensor));
  const TraceTensor& tensor = inputs[std::size_t(resource.tensor)];
  if (resource.bytes != tensor.elements * tensor.item_bytes)
    warn(fmt::format("expected {} bytes, got {}", tensor.elements * tensor.item_bytes,
                     resource.bytes));
}

}  // namespace

void check_resources(const TraceJob& job, Findings& findings) {
  for (const TraceResource& resource : job.resources) {
    if (const RankTrace* rank = trace_of(job, resource)) {
      if (resource.node) check_tensor(*rank, resource, findings);
    } else {
      findings.push_back(warning_at("resource", {},
                                    fmt::format("{}: expected a trace '{}.json' beside its folder",
                                                resource.file, resource.trace)));
    }
  }
}

}  // namespace simmesh::replay
