#include "sharding/validate/outputs_difference.h"

#include <fmt/format.h>

#include "sharding/validate/whole_of_pieces.h"

namespace simmesh {

namespace {

std::string list_text(const std::vector<std::optional<Placements>>& lists) {
  std::string text;
  for (const auto& list : lists)
    text += fmt::format("{}{}", text.empty() ? "" : ",",
                        list ? fmt::format("[{}]", to_string(PlacementSpan(*list))) : "-");
  return text;
}

}  // namespace

std::string outputs_difference(const WholeCall& call, const LocalOutputs& outputs,
                               const MeshPlacements& placements, DimSpan mesh_shape,
                               KnownResults* known) {
  std::vector<Tensor> pieces;
  pieces.reserve(outputs.of_rank.size());
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (!placements.outputs[i] || !call.outputs[i].is_defined()) continue;
    pieces.clear();
    for (const auto& of_rank : outputs.of_rank) pieces.push_back(of_rank[i]);
    JoinedPieces joined{.pieces = pieces,
                        .masks = outputs.masks,
                        .placements = *placements.outputs[i],
                        .mesh_shape = mesh_shape,
                        .known = known};
    if (make_whole(joined, call.outputs[i])) continue;
    std::string wrong = what_differs(joined, call.outputs[i]);
    if (!wrong.empty())
      return fmt::format("output {} as {}: {}", i, to_string(PlacementSpan(*placements.outputs[i])),
                         wrong);
  }
  return {};
}

std::string inputs_text(const WholeCall& call, const MeshPlacements& placements) {
  std::string text;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!text.empty()) text += ", ";
    const TensorType& type = call.input_types[i];
    if (!type.is_defined) {
      text += "none";
      continue;
    }
    text += fmt::format("{}{}", to_string(type.dtype), to_string(DimSpan(type.shape)));
    if (placements.inputs[i])
      text += fmt::format(" {}", to_string(PlacementSpan(*placements.inputs[i])));
  }
  return text;
}

std::string mesh_rule_text(const MeshPlacements& placements) {
  return list_text(placements.inputs) + " -> " + list_text(placements.outputs);
}

}  // namespace simmesh
