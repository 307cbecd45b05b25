#include "replay/validate/check_sizes.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>

#include "core/check/int128.h"
#include "core/check/join_text.h"

namespace simmesh::replay {

namespace {

using Tensors = gsl::span<const TraceTensor>;

// Longer lists are cut in the trace.
constexpr std::size_t list_length_max = 4096;

bool is_times(std::int64_t many, std::int64_t count, std::int64_t one) {
  return Int128(many) == Int128(count) * one;
}

// SizeCheck checks one communication.
class SizeCheck {
 public:
  SizeCheck(const JobView& view, const CommPlace& place, Findings& findings)
      : view_(view),
        place_(place),
        comm_(view.comm(place)),
        trace_(view.trace(place)),
        inputs_(trace_.tensors_in(view.node(place).inputs)),
        outputs_(trace_.tensors_in(view.node(place).outputs)),
        members_(std::int64_t(view.group(place).members.size())),
        findings_(findings) {}

  bool check() {
    CommKind kind = view_.kind(place_);
    bool is_exchange = kind == CommKind::all_to_all || kind == CommKind::all_to_allv;
    if (is_exchange) {
      check_split("in_split", comm_.in_split, inputs_);
      check_split("out_split", comm_.out_split, outputs_);
    }
    if (is_well_ && !inputs_.empty() && !outputs_.empty()) check_relation(kind);
    return is_well_;
  }

 private:
  void check_split(std::string_view field, TraceRange range, Tensors tensors) {
    gsl::span<const std::int64_t> split = trace_.numbers_in(range);
    if (split.empty() || split.size() >= list_length_max) return;
    if (std::int64_t(split.size()) != members_)
      return report("split_length", field,
                    fmt::format("expected one split for each of {} members, got {}: [{}]", members_,
                                split.size(), join_text(split, ", ")));
    Int128 sum = 0;
    for (std::int64_t part : split) sum += part;
    std::int64_t total = split_total(tensors);
    if (members_ == 1 && sum == element_sum(tensors)) return;
    bool has_negative = std::any_of(split.begin(), split.end(), [](auto part) { return part < 0; });
    if (sum == total && !has_negative) return;
    report("split_sum", field,
           fmt::format("expected {} splits that add up to {}, got {} from [{}]",
                       has_negative ? "positive" : "the", total, std::int64_t(sum),
                       join_text(split, ", ")));
  }

  // Splits count along the first dim of one tensor; for a list they are the elements of each
  // tensor.
  std::int64_t split_total(Tensors tensors) const {
    if (tensors.size() == 1 && tensors[0].shape.size() > 0)
      return trace_.numbers_in(tensors[0].shape)[0];
    return element_sum(tensors);
  }
  static std::int64_t element_sum(Tensors tensors) {
    std::int64_t sum = 0;
    for (const TraceTensor& tensor : tensors) sum += tensor.elements;
    return sum;
  }

  void check_relation(CommKind kind) {
    std::int64_t in = comm_.in_elements, out = comm_.out_elements;
    switch (kind) {
      case CommKind::all_reduce:
      case CommKind::all_reduce_coalesced:
      case CommKind::broadcast:
      case CommKind::reduce: return require(in == out, "as many outputs as inputs");
      case CommKind::all_gather: return require_gathered(outputs_, in, out);
      case CommKind::all_gather_base:
      case CommKind::all_gather_coalesced:
      case CommKind::gather: return require(is_times(out, members_, in), "outputs of all members");
      case CommKind::reduce_scatter: return require_gathered(inputs_, out, in);
      case CommKind::reduce_scatter_base:
      case CommKind::reduce_scatter_coalesced:
      case CommKind::scatter: return require(is_times(in, members_, out), "inputs for all members");
      case CommKind::all_to_all:
      case CommKind::all_to_allv: return check_even_exchange();
      default: return;
    }
  }

  // One tensor a member, where the own one has the size of the other side.
  void require_gathered(Tensors list, std::int64_t own, std::int64_t all) {
    auto index = view_.group(place_).index_of(view_.global_rank(place_));
    bool is_list = index && members_ > 1 && std::int64_t(list.size()) == members_;
    if (is_list)
      require(list[std::size_t(*index)].elements == own,
              fmt::format("a tensor of {} elements for the own rank {} in the list", own, *index));
    else
      require(is_times(all, members_, own), "one side to be all members' and the other the own");
  }

  void check_even_exchange() {
    bool has_in = comm_.in_split.size() > 0, has_out = comm_.out_split.size() > 0;
    if (!has_in && inputs_.size() == 1)
      require(comm_.in_elements % members_ == 0, "inputs that are cut evenly");
    if (!has_out && outputs_.size() == 1)
      require(comm_.out_elements % members_ == 0, "outputs that are cut evenly");
    if (!has_in && !has_out && inputs_.size() == 1 && outputs_.size() == 1)
      require(comm_.in_elements == comm_.out_elements, "as many outputs as inputs");
  }

  void require(bool holds, std::string_view expected) {
    if (holds) return;
    report(
        "size_relation", "inputs",
        fmt::format("{} among {} members: expected {}, got {} elements in and {} out",
                    view_.name(place_), members_, expected, comm_.in_elements, comm_.out_elements));
  }

  void report(std::string_view rule, std::string_view field, std::string message) {
    is_well_ = false;
    findings_.push_back(error_at(rule, view_.at(place_, field), std::move(message)));
  }

  const JobView& view_;
  const CommPlace& place_;
  const TraceComm& comm_;
  const ExecutionTrace& trace_;
  Tensors inputs_;
  Tensors outputs_;
  std::int64_t members_;
  Findings& findings_;
  bool is_well_ = true;
};

}  // namespace

bool check_sizes(const JobView& view, const CommPlace& place, Findings& findings) {
  return SizeCheck(view, place, findings).check();
}

}  // namespace simmesh::replay
