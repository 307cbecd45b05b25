#include "replay/validate/compare_exchange.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/int128.h"

namespace simmesh::replay {

namespace {

// Elements for each member of the group, by its index; all equal where there is no list of parts.
class MemberShares {
 public:
  explicit MemberShares(std::int64_t equal) : equal_(equal) {}
  explicit MemberShares(std::vector<std::int64_t> parts) : parts_(std::move(parts)) {}

  bool is_equal() const { return parts_.empty(); }
  std::int64_t operator[](std::int64_t index) const {
    return parts_.empty() ? equal_ : parts_[std::size_t(index)];
  }

 private:
  std::int64_t equal_ = 0;
  std::vector<std::int64_t> parts_;
};

// ExchangeShares are the parts that a member sends to each, and those that it expects from each.
struct ExchangeShares {
  MemberShares sent;
  MemberShares received;
};

// ExchangeCheck compares one collective.
class ExchangeCheck {
 public:
  ExchangeCheck(const JobView& view, const JobGroup& group, const std::vector<MemberComm>& members,
                Findings& findings)
      : view_(view), group_(group), members_(members), findings_(findings) {
    for (const MemberComm& member : members) parts_.push_back(parts_of(member));
  }

  bool check() {
    bool are_equal = std::all_of(parts_.begin(), parts_.end(), [](const ExchangeShares& each) {
      return each.sent.is_equal() && each.received.is_equal();
    });
    if (are_equal) return false;
    count_misfits();
    while (true) {
      auto most = std::max_element(misfits_.begin(), misfits_.end());
      if (*most == 0) return true;
      blame(std::size_t(most - misfits_.begin()));
    }
  }

 private:
  ExchangeShares parts_of(const MemberComm& member) const {
    const TraceComm& comm = view_.comm(member.place);
    const TraceNode& node = view_.node(member.place);
    switch (view_.kind(member.place)) {
      case CommKind::all_gather:
        return {MemberShares(comm.in_elements), list_of(member, node.outputs, comm.out_elements)};
      case CommKind::reduce_scatter:
        return {list_of(member, node.inputs, comm.in_elements), MemberShares(comm.out_elements)};
      default:
        return {split_of(member, comm.in_split, comm.in_elements),
                split_of(member, comm.out_split, comm.out_elements)};
    }
  }

  MemberShares equal_part(std::int64_t total) const {
    return MemberShares(total / std::int64_t(group_.members.size()));
  }

  MemberShares list_of(const MemberComm& member, TraceRange tensors, std::int64_t total) const {
    if (tensors.size() != group_.members.size()) return equal_part(total);
    std::vector<std::int64_t> parts;
    for (const TraceTensor& tensor : view_.trace(member.place).tensors_in(tensors))
      parts.push_back(tensor.elements);
    return MemberShares(std::move(parts));
  }

  // Splits count rows of the tensor; all rows have the same length.
  MemberShares split_of(const MemberComm& member, TraceRange range, std::int64_t total) const {
    gsl::span<const std::int64_t> split = view_.numbers(member.place, range);
    if (split.size() != group_.members.size()) return equal_part(total);
    Int128 rows = 0;
    for (std::int64_t part : split) rows += part;
    std::int64_t row = rows > 0 ? std::int64_t(total / rows) : 0;
    std::vector<std::int64_t> parts;
    for (std::int64_t part : split)
      parts.push_back(std::int64_t(std::uint64_t(part) * std::uint64_t(row)));
    return MemberShares(std::move(parts));
  }

  bool fits(std::size_t sender, std::size_t receiver) const {
    return parts_[sender].sent[members_[receiver].index] ==
           parts_[receiver].received[members_[sender].index];
  }

  void count_misfits() {
    misfits_.assign(members_.size(), 0);
    is_blamed_.assign(members_.size(), false);
    for (std::size_t s = 0; s < members_.size(); ++s)
      for (std::size_t r = 0; r < members_.size(); ++r) {
        if (fits(s, r)) continue;
        ++misfits_[s];
        if (r != s) ++misfits_[r];
      }
  }

  void blame(std::size_t member) {
    report(member);
    is_blamed_[member] = true;
    misfits_[member] = 0;
    for (std::size_t other = 0; other < members_.size(); ++other) {
      if (is_blamed_[other]) continue;
      misfits_[other] -= std::size_t(!fits(member, other)) + std::size_t(!fits(other, member));
    }
  }

  // Names the first pair that doesn't fit, and the number of such pairs.
  void report(std::size_t member) {
    std::string first;
    std::size_t sent = 0, received = 0;
    for (std::size_t other = 0; other < members_.size(); ++other) {
      if (is_blamed_[other] || other == member) continue;
      if (!fits(member, other) && sent++ + received == 0) first = describe(member, other);
      if (!fits(other, member) && received++ + sent == 0) first = describe(other, member);
    }
    if (first.empty()) first = describe(member, member);
    bool is_list = view_.kind(members_[member].place) == CommKind::all_gather ||
                   view_.kind(members_[member].place) == CommKind::reduce_scatter;
    bool is_received = received > sent;
    std::string_view field =
        is_list ? (is_received ? "outputs" : "inputs") : (is_received ? "out_split" : "in_split");
    findings_.push_back(error_at(
        is_list ? "size_relation" : "split_transpose", view_.at(members_[member].place, field),
        fmt::format("{}; of {} other ranks {} expect something else from it and {} send it "
                    "something else",
                    first, members_.size() - 1, sent, received)));
  }

  std::string describe(std::size_t sender, std::size_t receiver) const {
    return fmt::format(
        "{} sends {} elements to rank {}, {} expects {} from rank {}",
        to_string(view_, members_[sender].place), parts_[sender].sent[members_[receiver].index],
        view_.rank(members_[receiver].place), to_string(view_, members_[receiver].place),
        parts_[receiver].received[members_[sender].index], view_.rank(members_[sender].place));
  }

  const JobView& view_;
  const JobGroup& group_;
  const std::vector<MemberComm>& members_;
  Findings& findings_;
  std::vector<ExchangeShares> parts_;  // by place in members_, as the following
  std::vector<std::size_t> misfits_;
  std::vector<bool> is_blamed_;
};

}  // namespace

bool compare_exchange(const JobView& view, const JobGroup& group,
                      const std::vector<MemberComm>& members, Findings& findings) {
  return ExchangeCheck(view, group, members, findings).check();
}

}  // namespace simmesh::replay
