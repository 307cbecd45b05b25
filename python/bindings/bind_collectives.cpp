#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "collectives/collectives.h"
#include "python/bindings/bindings.h"
#include "python/bindings/casts/dims_caster.h"
#include "python/bindings/group_call.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Tensors = std::vector<Tensor>;

// An undefined tensor is None.
std::optional<Tensor> if_defined(Tensor tensor) {
  return tensor.is_defined() ? std::optional(std::move(tensor)) : std::nullopt;
}

void bind_reductions(nb::module_& module) {
  module.def(
      "all_reduce",
      [](const Tensor& tensor, const std::string& op, const GroupOrWorld& group) {
        return in_group("all_reduce", group, [&](const ProcessGroup& of, const CallSite& site) {
          return all_reduce(tensor, ReduceWith::named(op), of, site);
        });
      },
      "tensor"_a, "op"_a = "sum", "group"_a = nb::none(),
      "The reduction of the members' tensors, one buffer that all share.");
  module.def(
      "reduce_scatter",
      [](const Tensor& tensor, const std::string& op, std::int64_t dim, bool uneven,
         const GroupOrWorld& group) {
        return in_group("reduce_scatter", group, [&](const ProcessGroup& of, const CallSite& site) {
          return reduce_scatter(tensor, ReduceWith::named(op), {.dim = dim, .uneven = uneven}, of,
                                site);
        });
      },
      "tensor"_a, "op"_a = "sum", nb::kw_only(), "dim"_a = 0, "uneven"_a = false,
      "group"_a = nb::none(), "This member's piece of the reduction, cut along a dim.");
  module.def(
      "reduce",
      [](const Tensor& tensor, std::int64_t root, const std::string& op,
         const GroupOrWorld& group) {
        return if_defined(
            in_group("reduce", group, [&](const ProcessGroup& of, const CallSite& site) {
              return reduce(tensor, ReduceWith::named(op), root, of, site);
            }));
      },
      "tensor"_a, "root"_a, "op"_a = "sum", "group"_a = nb::none(),
      "The reduction on the member with index root, None elsewhere.");
}

void bind_gathers(nb::module_& module) {
  module.def(
      "all_gather",
      [](const Tensor& tensor, std::int64_t dim, bool uneven, const GroupOrWorld& group) {
        return in_group("all_gather", group, [&](const ProcessGroup& of, const CallSite& site) {
          return all_gather(tensor, {.dim = dim, .uneven = uneven}, of, site);
        });
      },
      "tensor"_a, nb::kw_only(), "dim"_a = 0, "uneven"_a = false, "group"_a = nb::none(),
      "The members' pieces concatenated along a dim, one buffer that all share.");
  module.def(
      "all_gather_list",
      [](const Tensor& tensor, const GroupOrWorld& group) {
        return in_group("all_gather_list", group,
                        [&](const ProcessGroup& of, const CallSite& site) {
                          return all_gather_list(tensor, of, site);
                        });
      },
      "tensor"_a, "group"_a = nb::none(), "Every member's tensor, of whatever shape.");
  module.def(
      "gather",
      [](const Tensor& tensor, std::int64_t root, const GroupOrWorld& group) {
        return in_group("gather", group, [&](const ProcessGroup& of, const CallSite& site) {
          return gather(tensor, root, of, site);
        });
      },
      "tensor"_a, "root"_a, "group"_a = nb::none(),
      "Every member's tensor on the member with index root, an empty list elsewhere.");
}

void bind_spreads(nb::module_& module) {
  module.def(
      "broadcast",
      [](const Tensor& tensor, std::int64_t root, const GroupOrWorld& group) {
        return in_group("broadcast", group, [&](const ProcessGroup& of, const CallSite& site) {
          return broadcast(tensor, root, of, site);
        });
      },
      "tensor"_a, "root"_a, "group"_a = nb::none(),
      "The tensor of the member with index root; the others pass one of the same shape and dtype.");
  module.def(
      "scatter",
      [](const Tensors& tensors, std::int64_t root, const GroupOrWorld& group) {
        return in_group("scatter", group, [&](const ProcessGroup& of, const CallSite& site) {
          return scatter(tensors, root, of, site);
        });
      },
      "tensors"_a, "root"_a, "group"_a = nb::none(),
      "The root's tensor number i on member i; the others pass an empty list.");
  module.def(
      "all_to_all",
      [](const Tensor& tensor, std::int64_t scatter_dim, std::int64_t gather_dim, bool uneven,
         const GroupOrWorld& group) {
        AllToAll dims{.scatter_dim = scatter_dim, .gather_dim = gather_dim, .uneven = uneven};
        return in_group("all_to_all", group, [&](const ProcessGroup& of, const CallSite& site) {
          return all_to_all(tensor, dims, of, site);
        });
      },
      "tensor"_a, nb::kw_only(), "scatter_dim"_a = 0, "gather_dim"_a = 0, "uneven"_a = false,
      "group"_a = nb::none(),
      "Part j, cut along scatter_dim, goes to member j; what comes is concatenated along "
      "gather_dim.");
  module.def(
      "all_to_all_single",
      [](const Tensor& tensor, const Dims& input_splits, const Dims& output_splits,
         const GroupOrWorld& group) {
        Splits splits{.input = input_splits, .output = output_splits};
        return in_group("all_to_all_single", group,
                        [&](const ProcessGroup& of, const CallSite& site) {
                          return all_to_all_single(tensor, splits, of, site);
                        });
      },
      "tensor"_a, "input_splits"_a, "output_splits"_a, "group"_a = nb::none(),
      "Exchanges rows of dim 0: how many go to each member, and how many come from each.");
  module.def(
      "barrier",
      [](const GroupOrWorld& group) {
        in_group("barrier", group,
                 [](const ProcessGroup& of, const CallSite& site) { barrier(of, site); });
      },
      "group"_a = nb::none(), "Blocks until every member has come.");
}

}  // namespace

void bind_collectives(nb::module_& module) {
  bind_reductions(module);
  bind_gathers(module);
  bind_spreads(module);
}

}  // namespace simmesh::python
