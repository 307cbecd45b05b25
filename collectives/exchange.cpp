#include "collectives/exchange.h"

#include "collectives/host_memory.h"
#include "core/check/check.h"
#include "core/check/error.h"
#include "core/engine/run/followed_release.h"

namespace simmesh {

void Exchange::start(std::uint64_t sequence) {
  std::size_t members = group_.size();
  arrivals_.assign(members, nullptr);
  operand_data_.resize(members);
  expected_ = group_.count_run();
  first_run_ = group_.first_run();
  arrived_ = 0;
  has_host_memory_ = false;
  sequence_ = sequence;
}

void Exchange::arrive(std::size_t member, Arrival& arrival) {
  SIMMESH_CHECK(arrivals_[member] == nullptr, "member {} arrives twice at #{}", member, sequence_);
  if (arrived_ == 0)
    first_ = member;
  else
    check_agreement(first_, member, disagreement(*arrivals_[first_]->call, *arrival.call), arrival);
  if (!arrival.call->input_splits.empty()) [[unlikely]]
    for (std::size_t other = 0; other < arrivals_.size(); ++other)
      if (arrivals_[other]) check_splits(other, member, arrival);
  // Looked up here, while the member's tensor is in the cache.
  gsl::span<const Tensor> inputs = arrival.call->inputs;
  bool lies_there = !inputs.empty() && inputs[0].is_contiguous() && inputs[0].has_elements();
  operand_data_[member] = lies_there ? inputs[0].data() : nullptr;
  arrivals_[member] = &arrival;
  has_host_memory_ |= arrival.host != nullptr;
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
  MemberCall mine{member, *arrival.call}, theirs{earlier, *arrivals_[earlier]->call};
  std::string difference = disagreement_on_splits(mine, theirs);
  if (difference.empty()) difference = disagreement_on_splits(theirs, mine);
  if (difference.empty()) return;
  bool is_value_error = follows(ReleaseChange::all_to_all_mismatch_class);
  refuse(is_value_error ? ErrorKind::value_error : ErrorKind::runtime_error, earlier, member,
         difference, arrival);
}

void Exchange::refuse(ErrorKind kind, std::size_t earlier, std::size_t member,
                      std::string_view difference, const Arrival& arrival) const {
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

}  // namespace simmesh
