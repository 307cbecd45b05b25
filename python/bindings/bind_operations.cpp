#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "collectives/collective_call.h"
#include "collectives/host_operations.h"
#include "core/arithmetic/companions/exact_record.h"
#include "core/engine/run/run.h"
#include "python/bindings/bindings.h"
#include "python/bindings/python_run.h"
#include "python/bindings/python_site.h"
#include "python/bindings/torch/kept_records.h"
#include "python/bindings/torch/torch_array.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// Gives an array the record of its tensor's storage. What isn't floating takes nothing along, and
// ends what stood behind its bytes.
void set_record(HostArray& array, nb::handle tensor, nb::handle record, bool is_result) {
  if (record.is_none() || !(is_result || holds_floats(tensor))) return;
  array.record = nb::cast<ExactRecord*>(record);
  array.record_offset =
      std::int64_t(reinterpret_cast<std::uintptr_t>(array.data) - StorageOfTensor(tensor).begin());
}

// An array without dims counts as one element where pieces are cut or joined.
std::vector<HostArray> arrays_of(const nb::list& tensors, const nb::list& records,
                                 const CollectiveCall& call, bool is_result) {
  const CollectiveFacts& facts = facts_of(call.op);
  std::vector<HostArray> arrays;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    nb::handle tensor = tensors[i];
    arrays.push_back(facts.reduces ? torch_array(tensor, call.reduce) : torch_array(tensor));
    if (i < records.size()) set_record(arrays.back(), tensor, records[i], is_result);
    if (!facts.takes_dim || !arrays.back().shape.empty()) continue;
    arrays.back().shape.push_back(1);
    arrays.back().strides.push_back(1);
  }
  return arrays;
}

// Memory together with the Python objects that own it. Any thread may release them.
struct OwnedMemory {
  HostMemory memory;
  nb::object owners;
};

std::shared_ptr<const HostMemory> owned(HostMemory memory, nb::object owners) {
  std::shared_ptr<OwnedMemory> whole(new OwnedMemory{std::move(memory), std::move(owners)},
                                     [](OwnedMemory* gone) {
                                       nb::gil_scoped_acquire lock;
                                       delete gone;
                                     });
  return {whole, &whole->memory};
}

CollectiveOp collective_op(const std::string& name) {
  if (std::optional<CollectiveOp> op = collective_op_named(name)) return *op;
  raise(ErrorKind::value_error, "python/collective", "expected the name of a collective, got '{}'",
        name);
}

// Operation is a collective or message under way, and the rank that waits for it.
struct Operation {
  Work work;

  bool wait(std::optional<double> timeout) {
    Rank& rank = seat_of_run("Operation.wait");
    CallSite site = python_site();
    return without_lock([&] {
      if (timeout) return work.wait_until(rank.seconds() + *timeout, site);
      work.wait_all(site);
      return true;
    });
  }

  bool is_completed() {
    seat_of_run("Operation.is_completed");
    CallSite site = python_site();
    return without_lock([&] { return work.is_completed(site); });
  }
};

struct CollectiveArguments {
  const std::string& op;
  const nb::list& inputs;
  const nb::list& outputs;
  const std::string& reduce;
  double factor;
  std::int64_t root;
  const std::vector<std::int64_t>& input_splits;
  const std::vector<std::int64_t>& output_splits;
  const nb::list& input_records;
  const nb::list& output_records;
  AfterStart after;
};

AfterStart after_start(bool yields) { return yields ? AfterStart::yields : AfterStart::goes_on; }

// Operands that carry exact values are scaled as such, by a rational where the factor is one.
void scale_carried(std::vector<HostArray>& operands, CollectiveCall& call) {
  bool scales =
      call.reduce == ReduceOp::premul_sum && call.keeps_unrounded && facts_of(call.op).reduces;
  if (!scales || operands.empty() || !is_floating_point(operands[0].dtype)) return;
  for (HostArray& operand : operands) operand.factor = call.factor;
  call.reduce = ReduceOp::sum;
  call.factor = 1;
}

// Raises an Error that names the call for tensors that it can't have.
HostMemory memory_of(const CollectiveArguments& arguments, CollectiveCall& call,
                     const ProcessGroup& group) {
  try {
    std::vector<HostArray> operands =
        arrays_of(arguments.inputs, arguments.input_records, call, false);
    std::vector<HostArray> results =
        arrays_of(arguments.outputs, arguments.output_records, call, true);
    scale_carried(operands, call);
    return {std::move(operands), std::move(results)};
  } catch (const Error& error) {
    refuse_memory(error, group, call);
  }
}

Operation start(const ProcessGroup& group, const CollectiveArguments& arguments) {
  seat_of_run("Group.collective");
  CollectiveCall call{
      .op = collective_op(arguments.op),
      .reduce = reduce_op_from_string(arguments.reduce),
      .factor = arguments.factor,
      .root = arguments.root,
      .keeps_unrounded = !arguments.input_records.empty() || !arguments.output_records.empty(),
      .host_dtypes = torch_dtypes(arguments.inputs),
      .input_splits = arguments.input_splits,
      .output_splits = arguments.output_splits,
      .site = python_site()};
  auto memory = owned(memory_of(arguments, call, group),
                      nb::make_tuple(arguments.inputs, arguments.outputs, arguments.input_records,
                                     arguments.output_records));
  return without_lock([&] {
    return Operation{start_collective_on(std::move(memory), group, call, arguments.after)};
  });
}

Operation start_send(const ProcessGroup& group, nb::handle tensor, const SendTo& to,
                     nb::handle record) {
  seat_of_run("Group.send");
  HostArray array = torch_array(tensor);
  set_record(array, tensor, record, false);
  auto memory = owned(HostMemory({array}, {}), nb::make_tuple(tensor, record));
  CallSite site = python_site();
  return without_lock([&] { return Operation{isend_from(std::move(memory), to, group, site)}; });
}

Operation start_receive(const ProcessGroup& group, nb::handle tensor, const ReceiveFrom& from,
                        nb::handle record) {
  seat_of_run("Group.recv");
  HostArray array = torch_array(tensor);
  set_record(array, tensor, record, true);
  auto memory = owned(HostMemory({}, {array}), nb::make_tuple(tensor, record));
  CallSite site = python_site();
  return without_lock([&] { return Operation{irecv_into(std::move(memory), from, group, site)}; });
}

void bind_operation(nb::module_& module) {
  nb::class_<Operation>(module, "Operation", nb::is_weak_referenceable(),
                        "A collective or message that was started.")
      .def(
          "wait", &Operation::wait, nb::arg("timeout").none() = nb::none(),
          "Blocks the rank until the operation has completed. Returns False where the timeout, in\n"
          "seconds of virtual time, came first.")
      .def("is_completed", &Operation::is_completed,
           "Says whether wait would return at once; the schedule chooses first.")
      .def_prop_ro(
          "has_completed", [](const Operation& self) { return self.work.has_completed(); },
          "True if the operation has completed by now. This is no point of the schedule.")
      .def_prop_ro(
          "source", [](const Operation& self) { return self.work.source(); },
          "After the wait for a receive: the index in the group of who sent it.");
}

}  // namespace

void bind_operations(nb::module_& module) {
  bind_operation(module);
  nb::class_<ProcessGroup>(
      module, "Group",
      "Ranks that communicate, as one of them sees them; used by the rank that made it. Operands\n"
      "and results are objects such as CPU tensors of torch, with data_ptr(), shape, stride() and\n"
      "dtype. Operations start without blocking. Operands are read when the last member has\n"
      "arrived, and results written at that moment.")
      .def(
          "__init__",
          [](ProcessGroup* self, std::vector<std::int64_t> members, const std::string& name) {
            seat_of_run("Group");
            new (self) ProcessGroup(ProcessGroup::of(RankList::of(members), name));
          },
          nb::arg("members"), nb::arg("name") = "group",
          "Members are ranks of the run. Those who name the same members get the same group.")
      .def_prop_ro("rank", &ProcessGroup::rank, "This rank's index in the group.")
      .def_prop_ro("size", &ProcessGroup::size)
      .def_prop_ro("name", &ProcessGroup::name)
      .def(
          "collective",
          [](const ProcessGroup& self, const std::string& op, const nb::list& inputs,
             const nb::list& outputs, const std::string& reduce, double factor, std::int64_t root,
             const std::vector<std::int64_t>& input_splits,
             const std::vector<std::int64_t>& output_splits, const nb::list& input_records,
             const nb::list& output_records, bool yields) {
            return start(self, {op, inputs, outputs, reduce, factor, root, input_splits,
                                output_splits, input_records, output_records, after_start(yields)});
          },
          nb::arg("op"), nb::arg("inputs"), nb::arg("outputs"), nb::kw_only(),
          nb::arg("reduce") = "sum", nb::arg("factor") = 1.0, nb::arg("root") = 0,
          nb::arg("input_splits") = std::vector<std::int64_t>(),
          nb::arg("output_splits") = std::vector<std::int64_t>(),
          nb::arg("input_records") = nb::list(), nb::arg("output_records") = nb::list(),
          nb::arg("yields") = true,
          "Starts the group's next collective. With records of the tensors' storages, or None, it\n"
          "carries exact values: those behind inputs are moved and added, and those of the "
          "results\n"
          "are behind outputs then. Others may run before the call returns, unless it doesn't "
          "yield.")
      .def(
          "send",
          [](const ProcessGroup& self, nb::handle tensor, std::int64_t peer, std::int64_t tag,
             nb::handle record) {
            return start_send(self, tensor, {.peer = peer, .tag = tag}, record);
          },
          nb::arg("tensor"), nb::arg("peer"), nb::arg("tag") = 0,
          nb::arg("record").none() = nb::none(), "Starts a send to a member.")
      .def(
          "recv",
          [](const ProcessGroup& self, nb::handle tensor, std::optional<std::int64_t> peer,
             std::int64_t tag, nb::handle record) {
            return start_receive(self, tensor, {.peer = peer, .tag = tag}, record);
          },
          nb::arg("tensor"), nb::arg("peer").none(), nb::arg("tag") = 0,
          nb::arg("record").none() = nb::none(),
          "Starts a receive from a member; from any where there is no peer.");
}

}  // namespace simmesh::python
