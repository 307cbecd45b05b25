#include "checkpoint/save_load/rank_plan.h"

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/read/rank_text.h"

namespace simmesh::checkpoint {

RankPlan rank_plan(const StateDict& state, const std::vector<LocalTensor>& locals) {
  RankPlan plan;
  for (const LocalTensor& local : locals) {
    plan.tensors.push_back({local.name, local.shape, local.dtype, {}});
    for (const Piece& piece : local.pieces) plan.tensors.back().boxes.push_back(piece.box);
  }
  for (const StateDict::Entry& entry : state.entries())
    if (const auto* value = std::get_if<JsonValue>(&entry.value))
      plan.objects.emplace_back(entry.name, value_text(*value));
  return plan;
}

std::string plan_text(const RankPlan& plan) {
  RankTextWriter writer;
  writer.add(std::int64_t(plan.tensors.size()));
  for (const RankTensor& tensor : plan.tensors) {
    writer.add(tensor.name);
    writer.add(DimSpan(tensor.shape));
    writer.add(std::int64_t(tensor.dtype));
    writer.add(std::int64_t(tensor.boxes.size()));
    for (const Box& box : tensor.boxes) writer.add(box);
  }
  for (const auto& [name, value] : plan.objects) {
    writer.add(name);
    writer.add(value);
  }
  return writer.text();
}

RankPlan parse_plan(std::string_view text) {
  RankTextReader reader(text);
  RankPlan plan;
  plan.tensors.resize(std::size_t(reader.number()));
  for (RankTensor& tensor : plan.tensors) {
    tensor.name = reader.text();
    tensor.shape = reader.dims();
    tensor.dtype = DType(reader.number());
    tensor.boxes.resize(std::size_t(reader.number()));
    for (Box& box : tensor.boxes) box = reader.box();
  }
  while (!reader.at_end()) {
    std::string name = reader.text();
    plan.objects.emplace_back(std::move(name), reader.text());
  }
  return plan;
}

}  // namespace simmesh::checkpoint
