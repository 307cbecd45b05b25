#include "gate/records/sharding_pictures.h"

#include <fmt/format.h>
#include <limits>

#include "core/check/counted.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/picture/picture_grid.h"

namespace simmesh {

namespace {

constexpr std::size_t cells_max = 64;

std::int64_t places(DimSpan sizes) {
  std::int64_t count = 1;
  for (std::int64_t size : sizes)
    if (__builtin_mul_overflow(count, size, &count))
      return std::numeric_limits<std::int64_t>::max();
  return count;
}

// Returns the data of a picture; of a large mesh or a finely cut tensor only the words.
JsonValue grid_json(DimSpan shape, DimSpan mesh_shape, const Sharding& sharding) {
  JsonValue json = JsonValue::object({{"legend", legend_lines(mesh_shape, sharding)}});
  JsonValue::List segments, cells, pieces, empty;
  bool is_partial = false;
  for (const Placement& placement : sharding.placements) is_partial |= placement.is_partial();
  if (places(mesh_shape) <= std::int64_t(cells_max)) {
    PictureGrid grid = picture_grid(shape, mesh_shape, sharding);
    if (grid.cells.size() <= cells_max) {
      for (const std::vector<IndexRun>& dim : grid.segments) {
        JsonValue::List runs;
        for (const IndexRun& run : dim) runs.emplace_back(std::vector{run.start, run.length});
        segments.emplace_back(std::move(runs));
      }
      for (std::int32_t cell : grid.cells) cells.emplace_back(cell);
      for (const PicturePiece& piece : grid.pieces) {
        pieces.emplace_back(piece.ranks);
        if (piece.empty) empty.emplace_back(piece.ranks);
      }
    }
  }
  json.set("segments", std::move(segments));
  json.set("cells", std::move(cells));
  json.set("pieces", std::move(pieces));
  json.set("empty", std::move(empty));
  json.set("partial", is_partial);
  return json;
}

JsonValue step_json(const std::string& title, JsonValue grid) {
  return JsonValue::object({{"title", title}, {"grid", std::move(grid)}});
}

}  // namespace

void ShardingPictures::add_model(nn::Module& model) {
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (!parameter.distribution()) continue;
    const DTensorSpec& spec = DTensor::in(parameter).spec();
    std::string key = to_string(spec);
    auto [place, is_new] = known_.try_emplace(key, groups_.size());
    if (!is_new) {
      if (place->second < groups_.size()) ++groups_[place->second].equal;
      continue;
    }
    if (groups_.size() == groups_max_) {
      ++left_out_;
      continue;
    }
    const DeviceMesh& mesh = spec.mesh();
    groups_.push_back({fmt::format("{}, {}{} on mesh {}", name, to_string(spec.dtype),
                                   to_string(spec.shape), to_string(mesh.shape())),
                       0,
                       {step_json(to_string(spec.sharding),
                                  grid_json(spec.shape, mesh.shape(), spec.sharding))}});
  }
}

void ShardingPictures::add_plans(const PlanCache& cache) {
  for (const auto& planned : cache.plans()) {
    const PlanRequest& request = planned->request;
    std::string key = to_string(request);
    if (planned->plan.steps.empty() || !known_.try_emplace(key, groups_.size()).second) continue;
    if (groups_.size() == groups_max_) {
      ++left_out_;
      continue;
    }
    const Plan& plan = planned->plan;
    JsonValue::List steps = {step_json("start: " + to_string(plan.from),
                                       grid_json(request.shape, request.mesh_shape, plan.from))};
    for (const PlanStep& step : plan.steps)
      steps.push_back(step_json(fmt::format("{}, {}", to_string(step),
                                            to_string(collective_of(step, request.mesh_shape))),
                                grid_json(request.shape, request.mesh_shape, step.after)));
    groups_.push_back({"redistribute " + key, 0, std::move(steps)});
  }
}

JsonValue ShardingPictures::json() const {
  if (groups_.empty()) return {};
  JsonValue::List groups;
  for (const Group& group : groups_) {
    std::string title = group.title;
    if (group.equal > 0) title += fmt::format(" and {} like it", group.equal);
    groups.push_back(JsonValue::object({{"title", title}, {"steps", group.steps}}));
  }
  JsonValue section = JsonValue::object(
      {{"kind", "shardings"}, {"title", "Shardings"}, {"groups", std::move(groups)}});
  if (left_out_ > 0)
    section.set("about", fmt::format("The page leaves out {}.",
                                     counted(std::int64_t(left_out_), "other sharding")));
  return section;
}

}  // namespace simmesh
