#include "checkpoint/save_load/rank_plan.h"

#include <nlohmann/json.hpp>

#include "checkpoint/catalog/manifest.h"

namespace simmesh::checkpoint {

namespace {

using Json = nlohmann::ordered_json;

Json plan_dims(DimSpan dims) { return std::vector<std::int64_t>(dims.begin(), dims.end()); }

Dims dims_of_plan(const Json& json) {
  auto numbers = json.get<std::vector<std::int64_t>>();
  return {numbers.begin(), numbers.end()};
}

}  // namespace

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
  Json tensors = Json::array(), objects = Json::array();
  for (const RankTensor& tensor : plan.tensors) {
    Json boxes = Json::array();
    for (const Box& box : tensor.boxes)
      boxes.push_back({plan_dims(box.offsets), plan_dims(box.sizes)});
    tensors.push_back(
        {tensor.name, plan_dims(tensor.shape), to_string(tensor.dtype), std::move(boxes)});
  }
  for (const auto& [name, value] : plan.objects) objects.push_back({name, value});
  return Json{{"tensors", std::move(tensors)}, {"objects", std::move(objects)}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

RankPlan parse_plan(std::string_view text) {
  Json json = Json::parse(text);
  RankPlan plan;
  for (const Json& entry : json.at("tensors")) {
    RankTensor tensor = {entry[0].get<std::string>(),
                         dims_of_plan(entry[1]),
                         dtype_from_string(entry[2].get<std::string>()),
                         {}};
    for (const Json& box : entry[3])
      tensor.boxes.push_back({dims_of_plan(box[0]), dims_of_plan(box[1])});
    plan.tensors.push_back(std::move(tensor));
  }
  for (const Json& entry : json.at("objects"))
    plan.objects.emplace_back(entry[0].get<std::string>(), entry[1].get<std::string>());
  return plan;
}

}  // namespace simmesh::checkpoint
