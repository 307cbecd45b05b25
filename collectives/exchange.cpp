#include "collectives/exchange.h"

#include <algorithm>
#include <map>

#include "collectives/host_memory.h"
#include "collectives/output_check.h"
#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/engine/ranks/call_contents.h"
#include "core/engine/run/followed_release.h"
#include "core/engine/run/run.h"

namespace simmesh {

namespace {

constexpr std::size_t named_ranks_max = 8;

// Callers are the ranks that made a call, and the line of the first of them.
struct Callers {
  std::vector<RankId> ranks;
  CallSite site;
};

std::string in_words(const std::vector<RankId>& ranks) {
  std::size_t shown = std::min(ranks.size(), named_ranks_max);
  std::string text = fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s",
                                 join_text(gsl::span(ranks).first(shown), ", "));
  if (shown < ranks.size()) text += fmt::format(" and {} more", ranks.size() - shown);
  return text;
}

// Returns the properties of a call that those of other members must share.
std::string shared_words(const CollectiveCall& call) {
  const CollectiveFacts& facts = facts_of(call.op);
  bool sizes_count = facts.operands == CollectiveOperands::of_one_shape && !call.uneven &&
                     call.input_splits.empty() && !call.inputs.empty();
  if (!sizes_count) return facts.name;
  return fmt::format("{} of {} elements", facts.name, call.inputs[0].numel());
}

}  // namespace

void Exchange::start(std::uint64_t sequence) {
  std::size_t members = group_.size();
  arrivals_.assign(members, nullptr);
  operand_data_.resize(members);
  expected_ = group_.count_run();
  first_run_ = group_.first_run();
  arrived_ = 0;
  has_host_memory_ = has_splits_ = false;
  sequence_ = sequence;
}

void Exchange::arrive(std::size_t member, Arrival& arrival) {
  SIMMESH_CHECK(arrivals_[member] == nullptr, "member {} arrives twice at #{}", member, sequence_);
  if (arrived_ == 0)
    first_ = member;
  else
    check_agreement(first_, member, disagreement(*arrivals_[first_]->call, *arrival.call), arrival);
  if (arrived_ > 0 && !arrival.contents.empty()) [[unlikely]]
    check_contents(first_, member, arrival);
  if (has_splits_ || !arrival.call->input_splits.empty()) [[unlikely]] {
    for (std::size_t other = 0; other < arrivals_.size(); ++other)
      if (arrivals_[other]) check_splits(other, member, arrival);
    check_splits(member, member, arrival);
  }
  if (arrival.host) [[unlikely]]
    for (std::size_t other = 0; other < arrivals_.size(); ++other)
      if (arrivals_[other] && arrivals_[other]->host) check_outputs(other, member, arrival);
  // Looked up here, while the member's tensor is in the cache.
  gsl::span<const Tensor> inputs = arrival.call->inputs;
  bool lies_there = !inputs.empty() && inputs[0].is_contiguous() && inputs[0].has_elements();
  operand_data_[member] = lies_there ? inputs[0].data() : nullptr;
  arrivals_[member] = &arrival;
  has_host_memory_ |= arrival.host != nullptr;
  has_splits_ |= !arrival.call->input_splits.empty();
  ++arrived_;
}

void Exchange::load_host() {
  if (!has_host_memory_) [[likely]]
    return;
  for (Arrival* arrival : arrivals_)
    if (arrival && arrival->host) arrival->host->load(arrival->loaded);
}

void Exchange::store_host() {
  if (!has_host_memory_) [[likely]]
    return;
  for (Arrival* arrival : arrivals_)
    if (arrival && arrival->host) arrival->host->store(arrival->parts());
}

Chunk Exchange::rows_between(std::size_t from, std::size_t to) const {
  const CollectiveCall& made = call(from);
  std::int64_t size = made.inputs[0].size(made.scatter_dim);
  if (made.input_splits.empty()) return chunk_of({size, std::int64_t(members()), std::int64_t(to)});
  Chunk chunk;
  for (std::size_t j = 0; j < to; ++j) chunk.start += made.input_splits[j];
  chunk.length = made.input_splits[to];
  return chunk;
}

void Exchange::finish(Run& run) {
  for (std::shared_ptr<Arrival>& kept : kept_) {
    if (kept->is_blocked) continue;
    RankId rank = kept->rank->id();
    run.leave_to(rank, std::move(kept));
  }
  kept_.clear();
}

void Exchange::give_all(ResultPart part) {
  if (!shared_) shared_.reset(new SharedResults);
  shared_->parts.push_back(std::move(part));
}

void Exchange::check_agreement(std::size_t earlier, std::size_t member, std::string_view difference,
                               const Arrival& arrival) const {
  if (difference.empty()) [[likely]]
    return;
  refuse(ErrorKind::runtime_error, earlier, member, difference, arrival);
}

void Exchange::check_splits(std::size_t earlier, std::size_t member, const Arrival& arrival) const {
  const Arrival& other = earlier == member ? arrival : *arrivals_[earlier];
  MemberCall mine{member, *arrival.call}, theirs{earlier, *other.call};
  std::string difference = disagreement_on_splits(mine, theirs, members());
  if (difference.empty()) difference = disagreement_on_splits(theirs, mine, members());
  if (difference.empty()) return;
  bool is_value_error = follows(ReleaseChange::all_to_all_mismatch_class);
  refuse(is_value_error ? ErrorKind::value_error : ErrorKind::runtime_error, earlier, member,
         difference, arrival);
}

void Exchange::check_contents(std::size_t earlier, std::size_t member,
                              const Arrival& arrival) const {
  auto [theirs, mine] = difference_of_contents(arrivals_[earlier]->contents, arrival.contents);
  if (theirs == mine) return;
  bool in_order = earlier < member;
  RankId there = group_.rank_of(earlier), here = group_.rank_of(member);
  std::string difference = fmt::format("the contents differ: rank {} brings {}, rank {} brings {}",
                                       in_order ? there : here, in_order ? theirs : mine,
                                       in_order ? here : there, in_order ? mine : theirs);
  refuse(ErrorKind::runtime_error, earlier, member, difference, arrival);
}

void Exchange::check_outputs(std::size_t earlier, std::size_t member,
                             const Arrival& arrival) const {
  MemberMemory mine{member, *arrival.host}, theirs{earlier, *arrivals_[earlier]->host};
  std::string difference = disagreement_on_outputs(*arrival.call, mine, theirs);
  if (!difference.empty()) refuse(ErrorKind::runtime_error, earlier, member, difference, arrival);
}

void Exchange::refuse(ErrorKind kind, std::size_t earlier, std::size_t member,
                      std::string_view difference, const Arrival& arrival) const {
  if (earlier == member)
    raise(kind, "collectives/mismatch", "collective #{} of group {}: {}: rank {} calls {}",
          sequence_, group_.describe(), difference, arrival.rank->id(), to_string(*arrival.call));
  bool in_order = earlier < member;
  const Arrival& a = in_order ? *arrivals_[earlier] : arrival;
  const Arrival& b = in_order ? arrival : *arrivals_[earlier];
  raise(kind, "collectives/mismatch",
        "collective #{} of group {}: {}: rank {} calls {}, rank {} calls {}", sequence_,
        group_.describe(), difference, a.rank->id(), to_string(*a.call), b.rank->id(),
        to_string(*b.call));
}

std::string Exchange::group() const { return group_.describe(); }

std::string Exchange::operand(RankId rank) const {
  auto member = group_.members().index_of(rank);
  const Arrival* arrival = member ? arrivals_[std::size_t(*member)] : nullptr;
  if (!arrival || arrival->call->inputs.empty()) return {};
  const Tensor& input = arrival->call->inputs[0];
  return describe_operand(input.dtype(), input.shape()) + host_dtypes_of(*arrival->call);
}

std::vector<RankId> Exchange::missing_ranks() const {
  std::vector<RankId> missing;
  for (std::size_t member = 0; member < arrivals_.size(); ++member)
    if (!arrivals_[member] && group_.is_run(member)) missing.push_back(group_.rank_of(member));
  return missing;
}

// Operations of a group complete in order, so the oldest one is the first that some didn't make.
std::string Exchange::difference() const {
  bool is_only_one = !under_way_ || under_way_->empty();
  const Exchange& oldest = is_only_one ? *this : *under_way_->front();
  return fmt::format("number {} (#{}) of group {}:{}", oldest.sequence_ + 1, oldest.sequence_,
                     group_.describe(), oldest.arrivals_in_words());
}

std::string Exchange::arrivals_in_words() const {
  std::map<std::string, Callers> callers;
  std::vector<RankId> missing;
  for (std::size_t member = 0; member < arrivals_.size(); ++member) {
    if (!group_.is_run(member)) continue;
    const Arrival* arrival = arrivals_[member];
    if (!arrival) missing.push_back(group_.rank_of(member));
    if (!arrival) continue;
    Callers& same = callers[shared_words(*arrival->call)];
    if (same.ranks.empty()) same.site = arrival->call->site;
    same.ranks.push_back(group_.rank_of(member));
  }
  std::string text;
  for (const auto& [call, by] : callers)
    text += fmt::format("\n    {} by {} at {}", call, in_words(by.ranks), to_string(by.site));
  if (!missing.empty()) text += "\n    no call by " + in_words(missing);
  return text;
}

}  // namespace simmesh
