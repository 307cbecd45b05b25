#include "sharding/redistribute/plan_report.h"

#include <fmt/format.h>

#include "sharding/placement/local_shape.h"

namespace simmesh {

namespace {

// Returns the bytes of the first rank's piece, which is the largest: chunks never grow along a mesh
// dim.
std::int64_t largest_piece_bytes(const PlanRequest& request, const Sharding& sharding) {
  Dims first(request.mesh_shape.size(), 0);
  LocalShape piece = compute_local_shape_and_global_offset(request.shape, request.mesh_shape, first,
                                                           sharding.placements, sharding.order);
  return numel(piece.shape) * std::int64_t(bytes_per_element(request.dtype));
}

struct Moved {
  std::int64_t per_rank = 0;
  std::int64_t per_link = 0;
};

// In a ring the bytes that a rank sends cross one link. In an all-to-all around a ring a part
// crosses (n-1)/2 links on average.
Moved moved_bytes(Collective collective, std::int64_t piece, std::int64_t members) {
  std::int64_t part = (piece + members - 1) / members;
  std::int64_t others = members - 1;
  switch (collective) {
    case Collective::none: return {};
    case Collective::all_gather: return {others * piece, others * piece};
    case Collective::reduce_scatter: return {others * part, others * part};
    case Collective::all_reduce: return {2 * others * part, 2 * others * part};
    case Collective::all_to_all: return {others * part, others * members / 2 * part};
  }
  return {};
}

}  // namespace

PlanReport report_plan(const Plan& plan, const PlanRequest& request) {
  PlanReport report{
      .planner = std::string(to_string(plan.planner)), .steps = {}, .cost_us = plan.cost_us};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    std::int64_t members = 1;
    for (std::int64_t dim : step.mesh_dims) members *= request.mesh_shape[std::size_t(dim)];
    Collective collective = collective_of(step, request.mesh_shape);
    Moved moved = moved_bytes(collective, largest_piece_bytes(request, plan.before(i)), members);
    report.steps.push_back({.text = to_string(step),
                            .collective = std::string(to_string(collective)),
                            .after = to_string(step.after),
                            .bytes_per_rank = moved.per_rank,
                            .bytes_per_link = moved.per_link,
                            .cost_us = step.cost_us});
  }
  return report;
}

std::string to_text(const PlanReport& report, bool quiet) {
  std::string text;
  if (!quiet) {
    text = fmt::format("planner: {}\n", report.planner);
    for (const PlanReport::Step& step : report.steps)
      text += fmt::format("{}  {}  {} bytes per rank, {} bytes per link, {} us  =>  {}\n",
                          step.text, step.collective, step.bytes_per_rank, step.bytes_per_link,
                          step.cost_us, step.after);
  }
  return text + fmt::format("cost: {}\n", report.cost_us);
}

}  // namespace simmesh
