#include "replay/validate/check_attributes.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "core/check/join_text.h"

namespace simmesh::replay {

namespace {

// AttributeCheck compares the attributes of one communication.
class AttributeCheck {
 public:
  AttributeCheck(const JobView& view, const CommPlace& place, Findings& findings)
      : view_(view),
        place_(place),
        comm_(view.comm(place)),
        node_(view.node(place)),
        trace_(view.trace(place)),
        findings_(findings) {}

  void check() {
    check_types();
    for (const TraceAttribute& attribute : trace_.attributes_in(comm_.attributes)) {
      std::string_view name = trace_.text(attribute.name);
      if (const auto* number = std::get_if<std::int64_t>(&attribute.value))
        check_number(name, *number);
      else
        check_text(name, trace_.text(std::get<TextId>(attribute.value)));
    }
  }

 private:
  void check_number(std::string_view name, std::int64_t value) {
    if (name == "in_msg_nelems" && node_.inputs.size() > 0)
      expect("attr_size", name, comm_.in_elements, value);
    if (name == "out_msg_nelems" && node_.outputs.size() > 0)
      expect("attr_size", name, comm_.out_elements, value);
    if (comm_.global_rank_start < 0) return;
    if (name == "pg_size") expect("attr_size", name, comm_.group_size, value);
    if (name == "global_rank_start") expect("attr_size", name, comm_.global_rank_start, value);
    if (name == "global_rank_stride") expect("attr_size", name, comm_.global_rank_stride, value);
  }

  void check_text(std::string_view name, std::string_view value) {
    if (name == "collective_name") expect("attr_name", name, view_.name(place_), value);
    if (name == "dtype" && comm_.has_tensors())
      expect("dtype", name, trace_.text(comm_.dtype), value);
    if (name == "in_split_size") check_split(name, comm_.in_split, value);
    if (name == "out_split_size") check_split(name, comm_.out_split, value);
    if (!comm_.group.name_and_description) return;
    const auto& [group, description] = *comm_.group.name_and_description;
    if (name == "pg_name") expect("attr_name", name, trace_.text(group), value);
    if (name == "pg_desc") expect("attr_name", name, trace_.text(description), value);
  }

  // Long lists are written "[1, 2, ...]".
  void check_split(std::string_view name, TraceRange split, std::string_view value) {
    if (value.find("...") != std::string_view::npos) return;
    std::string recorded(value);
    recorded.erase(std::remove(recorded.begin(), recorded.end(), ' '), recorded.end());
    std::string argument = fmt::format("[{}]", join_text(trace_.numbers_in(split), ","));
    if (recorded != argument) expect("attr_size", name, std::string_view(argument), value);
  }

  void check_types() {
    gsl::span<const TraceTensor> in = trace_.tensors_in(node_.inputs);
    gsl::span<const TraceTensor> out = trace_.tensors_in(node_.outputs);
    if (in.empty() || out.empty() || in[0].type == out[0].type) return;
    report("dtype", "outputs",
           fmt::format("expected outputs of the inputs' dtype {}, got {}", trace_.text(in[0].type),
                       trace_.text(out[0].type)));
  }

  template <class T>
  void expect(std::string_view rule, std::string_view name, const T& argument, const T& value) {
    if (argument == value) return;
    report(rule, name,
           fmt::format("the attribute says {}, the arguments and tensors say {}", value, argument));
  }

  void report(std::string_view rule, std::string_view field, std::string message) {
    findings_.push_back(error_at(rule, view_.at(place_, field), std::move(message)));
  }

  const JobView& view_;
  const CommPlace& place_;
  const TraceComm& comm_;
  const TraceNode& node_;
  const ExecutionTrace& trace_;
  Findings& findings_;
};

}  // namespace

void check_attributes(const JobView& view, const CommPlace& place, Findings& findings) {
  AttributeCheck(view, place, findings).check();
}

}  // namespace simmesh::replay
