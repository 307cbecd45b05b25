#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>

#include "python/bindings/bindings.h"
#include "python/bindings/casts/dims_caster.h"
#include "python/bindings/casts/mesh_shape.h"
#include "python/bindings/casts/placement_list.h"
#include "sharding/picture/plan_picture.h"
#include "sharding/redistribute/plan_report.h"
#include "sharding/redistribute/redistribute_refusals.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

struct PlannedRoute {
  PlanRequest request;
  Plan plan;
  PlanReport report;
};

struct PlanWords {
  std::string dtype, planner, release;
  std::vector<Dims> flattened;
  std::int64_t devices_per_host;
};

PlannedRoute planned(const MeshShape& mesh, const Dims& shape, const PlacementList& source,
                     const PlacementList& target, const PlanWords& words) {
  PlannedRoute route{.request = {.shape = shape,
                                 .dtype = dtype_from_string(words.dtype),
                                 .mesh_shape = shape_of(mesh),
                                 .from = placements_of(source),
                                 .to = placements_of(target),
                                 .planner = planner_choice_from_string(words.planner),
                                 .flattened = words.flattened,
                                 .topology = {.devices_per_host = words.devices_per_host},
                                 .release = parse_release(words.release)},
                     .plan = {},
                     .report = {}};
  numel(shape);
  route.plan = make_plan(route.request);
  validate_steps(route.plan, route.request);
  route.report = report_plan(route.plan, route.request);
  return route;
}

std::map<std::string, std::int64_t> collectives(const PlannedRoute& route) {
  std::map<std::string, std::int64_t> counts;
  for (const PlanReport::Step& step : route.report.steps)
    if (step.collective != "none") ++counts[step.collective];
  return counts;
}

std::int64_t bytes_per_rank(const PlannedRoute& route) {
  std::int64_t bytes = 0;
  for (const PlanReport::Step& step : route.report.steps) bytes += step.bytes_per_rank;
  return bytes;
}

void bind_step(nb::module_& module) {
  using Step = PlanReport::Step;
  nb::class_<Step>(module, "PlanStep", "One step of a plan.")
      .def_ro("text", &Step::text, "What it does: \"S(0)->R on mesh dim 0\".")
      .def_ro("collective", &Step::collective, "\"all_gather\", or \"none\".")
      .def_ro("after", &Step::after, "The placements after the step: \"R,S(1)\".")
      .def_ro("bytes_per_rank", &Step::bytes_per_rank, "What each rank sends.")
      .def_ro("bytes_per_link", &Step::bytes_per_link, "What crosses the busiest link of the ring.")
      .def_ro("cost_us", &Step::cost_us, "What it costs by itself, in microseconds.")
      .def("__repr__", [](const Step& step) { return "<" + step.text + ">"; });
}

void bind_class(nb::module_& module) {
  nb::class_<PlannedRoute>(module, "Plan",
                           "The steps that lead from one sharding to another. str() is what "
                           "`simmesh plan` prints.")
      .def_prop_ro(
          "planner", [](const PlannedRoute& route) { return route.report.planner; },
          "The algorithm that found it: \"greedy\", \"graph\" or \"unwind\".")
      .def_prop_ro(
          "steps", [](const PlannedRoute& route) { return route.report.steps; },
          "The steps, in their order.")
      .def_prop_ro("collectives", &collectives, "How often each collective is called.")
      .def_prop_ro("bytes_per_rank", &bytes_per_rank, "What each rank sends, in all steps.")
      .def_prop_ro(
          "cost_us", [](const PlannedRoute& route) { return route.report.cost_us; },
          "The cost of the plan, in microseconds; infinite where a step can't be priced.")
      .def(
          "picture",
          [](const PlannedRoute& route) {
            return plan_text_picture(route.request.shape, route.request.mesh_shape, route.plan);
          },
          "What the ranks hold before and after each step, drawn in plain text.")
      .def(
          "svg",
          [](const PlannedRoute& route) {
            return plan_svg_picture(route.request.shape, route.request.mesh_shape, route.plan);
          },
          "The same picture as one SVG element.")
      .def("_repr_svg_",
           [](const PlannedRoute& route) {
             return plan_svg_picture(route.request.shape, route.request.mesh_shape, route.plan);
           })
      .def("__str__", [](const PlannedRoute& route) { return to_text(route.report); })
      .def("__repr__",
           [](const PlannedRoute& route) { return "<plan of " + to_string(route.request) + ">"; });
}

}  // namespace

void bind_plan(nb::module_& module) {
  bind_step(module);
  bind_class(module);
  module.def(
      "plan",
      [](const MeshShape& mesh, const Dims& shape, const PlacementList& source,
         const PlacementList& target, std::string dtype, std::string planner, std::string release,
         std::vector<Dims> flattened, std::int64_t devices_per_host) {
        return planned(mesh, shape, source, target,
                       {std::move(dtype), std::move(planner), std::move(release),
                        std::move(flattened), devices_per_host});
      },
      "mesh"_a, "shape"_a, "source"_a, "target"_a, nb::kw_only(), "dtype"_a = "float32",
      "planner"_a = "automatic", "release"_a = std::string(to_string(newest_release)),
      "flattened"_a = nb::tuple(), "devices_per_host"_a = 1,
      "Plans the redistribution of a tensor over a mesh, without any rank.\n\n"
      "    plan(mesh=(2, 4), shape=(16, 8), source=\"S(0),R\", target=[\"R\", Shard(1)])\n\n"
      "planner is automatic, greedy or graph; release is the PyTorch whose behaviour is followed.\n"
      "flattened lists the mesh dims of each flattened mesh, over which steps may merge. Raises\n"
      "PyTorch's exceptions for what a redistribution refuses.");
}

}  // namespace simmesh::python
