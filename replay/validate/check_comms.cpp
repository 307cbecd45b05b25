#include "replay/validate/check_comms.h"

#include <fmt/format.h>
#include <set>
#include <utility>

#include "replay/job/recorded_rank.h"
#include "replay/validate/check_attributes.h"
#include "replay/validate/check_sizes.h"

namespace simmesh::replay {

namespace {

// RankComms checks the communications of one rank.
class RankComms {
 public:
  RankComms(const JobView& view, std::uint32_t position, Findings& findings)
      : view_(view), position_(position), findings_(findings) {}

  std::vector<bool> check() {
    std::size_t count = view_.groups().comms[position_].size();
    std::vector<bool> faults(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      CommPlace place{.position = position_, .comm = i};
      CommKind kind = view_.kind(place);
      if (kind == CommKind::wait)
        check_wait(place);
      else
        start(place, kind);
      if (view_.job_comm(place).group) check_rank(place, kind);
      if (kind == CommKind::wait || kind == CommKind::init) continue;
      check_attributes(view_, place, findings_);
      if (!view_.job_comm(place).group) continue;
      check_figures(place);
      faults[i] = !check_sizes(view_, place, findings_);
    }
    report_own_ranks();
    return faults;
  }

 private:
  // A request that another collective of the group has already: a wait for it can mean either.
  // Messages to several peers share one, and so do collectives that were coalesced.
  void start(const CommPlace& place, CommKind kind) {
    const TraceComm& comm = view_.comm(place);
    if (kind == CommKind::unknown && !view_.name(place).empty())
      findings_.push_back(
          warning_at("unknown_collective", view_.at(place, "name"),
                     fmt::format("expected the name of a collective or message, got '{}'",
                                 view_.name(place))));
    bool is_new = started_.insert({view_.job_comm(place).group, comm.request}).second;
    bool may_share = is_message(kind) || kind == CommKind::init || kind == CommKind::unknown ||
                     comm.request.is_point_to_point.value_or(false) ||
                     view_.name(place).find("oalesced") != std::string_view::npos;
    if (!is_new && !may_share && view_.job_comm(place).group)
      findings_.push_back(warning_at(
          "request_reused", view_.at(place, "req"),
          fmt::format("{}: expected a request of its own, got {}, which an earlier collective of "
                      "the group has",
                      view_.name(place), comm.request.sequence)));
  }

  void check_wait(const CommPlace& place) {
    const TraceRequest& request = view_.comm(place).request;
    if (started_.contains({view_.job_comm(place).group, request})) return;
    findings_.push_back(note_at("dangling_wait", view_.at(place, "req"),
                                fmt::format("waits for request {}, which the trace doesn't start "
                                            "before",
                                            request.sequence)));
  }

  void check_rank(const CommPlace& place, CommKind kind) {
    RankField field = rank_field(kind);
    std::int64_t rank = view_.comm(place).rank;
    auto size = std::int64_t(view_.group(place).members.size());
    // Operators of other backends than NCCL don't record it.
    bool is_recorded = view_.comm(place).request.sequence >= 0;
    if (field == RankField::own_rank && is_recorded) {
      ++own_ranks_;
      if (view_.group(place).index_of(view_.global_rank(place)) != rank)
        wrong_ranks_.push_back(place);
    }
    if (rank >= 0 && rank < size) return;
    if (field == RankField::root)
      report("root", place, "root",
             fmt::format("expected a root from 0 to {}, got {}", size - 1, rank));
    // A receiver may take a message from any rank.
    bool is_any = kind == CommKind::recv && rank == -1;
    if (field == RankField::peer && !is_any)
      report("p2p_unmatched", place, "rank",
             fmt::format("expected the other side of a {} from 0 to {}, got {}", view_.name(place),
                         size - 1, rank));
  }

  void report_own_ranks() {
    bool is_other_rank = wrong_ranks_.size() > 1 && wrong_ranks_.size() == own_ranks_;
    for (const CommPlace& place : wrong_ranks_) {
      const JobGroup& group = view_.group(place);
      std::string message =
          fmt::format("expected the place of rank {} in {}, got {}", view_.global_rank(place),
                      to_string(group), view_.comm(place).rank);
      if (is_other_rank)
        message += fmt::format(
            "; so in all {} nodes that record the own rank: the trace may be "
            "another rank's",
            own_ranks_);
      report("own_rank", place, "rank", std::move(message));
      if (is_other_rank) return;
    }
  }

  void check_figures(const CommPlace& place) {
    const TraceComm& comm = view_.comm(place);
    const std::vector<std::int64_t>& members = view_.group(place).members;
    auto size = std::int64_t(members.size());
    if (comm.group_size > 0 && comm.group_size != size)
      report("group_identity", place, "pg_size",
             fmt::format("expected the size of {}, got {}", to_string(view_.group(place)),
                         comm.group_size));
    if (comm.global_rank_start < 0) return;
    // For uneven steps, and for one rank, the stride has no meaning.
    bool has_stride = size > 1 && comm.global_rank_stride > 0;
    if (comm.global_rank_start != members[0] ||
        (has_stride && comm.global_rank_stride != members[1] - members[0]))
      report("group_identity", place, "global_rank_start",
             fmt::format("expected ranks as in {}, got a group from {} in steps of {}",
                         to_string(view_.group(place)), comm.global_rank_start,
                         comm.global_rank_stride));
  }

  void report(std::string_view rule, const CommPlace& place, std::string_view field,
              std::string message) {
    findings_.push_back(error_at(rule, view_.at(place, field), std::move(message)));
  }

  const JobView& view_;
  std::uint32_t position_;
  Findings& findings_;
  std::set<std::pair<std::optional<std::uint32_t>, TraceRequest>> started_;
  std::size_t own_ranks_ = 0;
  std::vector<CommPlace> wrong_ranks_;
};

}  // namespace

CommFaults check_comms(const JobView& view, Findings& findings) {
  CommFaults faults;
  for (std::uint32_t position = 0; position < view.job().ranks.size(); ++position)
    faults.push_back(RankComms(view, position, findings).check());
  return faults;
}

}  // namespace simmesh::replay
