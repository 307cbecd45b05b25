#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "python/bindings/bindings.h"
#include "python/bindings/casts/dims_caster.h"
#include "python/bindings/casts/dtype_word.h"
#include "python/bindings/group_call.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

void bind_class(nb::module_& module) {
  nb::class_<Work>(module, "Work",
                   "An operation that was started. Its operands were taken as they were then.")
      .def(
          "wait",
          [](Work& self) -> std::optional<Tensor> {
            Tensor result =
                as_rank("Work.wait", [&](const CallSite& site) { return self.wait(site); });
            return result.is_defined() ? std::optional(result) : std::nullopt;
          },
          "Blocks until it has completed, and returns its result: None where it has none.")
      .def(
          "is_completed",
          [](const Work& self) {
            return as_rank("Work.is_completed",
                           [&](const CallSite& site) { return self.is_completed(site); });
          },
          "Whether wait would return at once. The answer depends on the schedule.");
}

void bind_messages(nb::module_& module) {
  module.def(
      "send",
      [](const Tensor& tensor, std::int64_t dst, std::int64_t tag, const GroupOrWorld& group) {
        in_group("send", group, [&](const ProcessGroup& of, const CallSite& site) {
          send(tensor, {.peer = dst, .tag = tag}, of, site);
        });
      },
      "tensor"_a, "dst"_a, nb::kw_only(), "tag"_a = 0, "group"_a = nb::none(),
      "Blocks until the member with index dst has received the tensor.");
  module.def(
      "isend",
      [](const Tensor& tensor, std::int64_t dst, std::int64_t tag, const GroupOrWorld& group) {
        return in_group("isend", group, [&](const ProcessGroup& of, const CallSite& site) {
          return isend(tensor, {.peer = dst, .tag = tag}, of, site);
        });
      },
      "tensor"_a, "dst"_a, nb::kw_only(), "tag"_a = 0, "group"_a = nb::none(),
      "Hands a message over; wait returns when it was received.");
  module.def(
      "recv",
      [](const Dims& shape, std::optional<std::int64_t> src, const DTypeWord& dtype,
         std::int64_t tag, const GroupOrWorld& group) {
        DType type = dtype_of_word(dtype);
        Received received =
            in_group("recv", group, [&](const ProcessGroup& of, const CallSite& site) {
              return recv(shape, type, {.peer = src, .tag = tag}, of, site);
            });
        return std::pair(received.tensor, received.peer);
      },
      "shape"_a, "src"_a = nb::none(), nb::kw_only(), "dtype"_a = "float32", "tag"_a = 0,
      "group"_a = nb::none(),
      "Blocks until a message of that shape and dtype has come; returns it and who sent it. "
      "Without src:\nfrom any member.");
  module.def(
      "irecv",
      [](const Dims& shape, std::optional<std::int64_t> src, const DTypeWord& dtype,
         std::int64_t tag, const GroupOrWorld& group) {
        DType type = dtype_of_word(dtype);
        return in_group("irecv", group, [&](const ProcessGroup& of, const CallSite& site) {
          return irecv(shape, type, {.peer = src, .tag = tag}, of, site);
        });
      },
      "shape"_a, "src"_a = nb::none(), nb::kw_only(), "dtype"_a = "float32", "tag"_a = 0,
      "group"_a = nb::none(), "Posts a receive; wait returns the tensor.");
}

void bind_started_collectives(nb::module_& module) {
  module.def(
      "all_reduce_async",
      [](const Tensor& tensor, const std::string& op, const GroupOrWorld& group) {
        return in_group("all_reduce_async", group,
                        [&](const ProcessGroup& of, const CallSite& site) {
                          return all_reduce_async(tensor, ReduceWith::named(op), of, site);
                        });
      },
      "tensor"_a, "op"_a = "sum", "group"_a = nb::none(), "Starts an all_reduce.");
  module.def(
      "all_gather_async",
      [](const Tensor& tensor, std::int64_t dim, bool uneven, const GroupOrWorld& group) {
        return in_group("all_gather_async", group,
                        [&](const ProcessGroup& of, const CallSite& site) {
                          return all_gather_async(tensor, {.dim = dim, .uneven = uneven}, of, site);
                        });
      },
      "tensor"_a, nb::kw_only(), "dim"_a = 0, "uneven"_a = false, "group"_a = nb::none(),
      "Starts an all_gather.");
}

}  // namespace

void bind_work(nb::module_& module) {
  bind_class(module);
  bind_messages(module);
  bind_started_collectives(module);
}

}  // namespace simmesh::python
