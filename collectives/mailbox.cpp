#include "collectives/mailbox.h"

#include <algorithm>

#include "collectives/host_memory.h"
#include "collectives/transport.h"
#include "core/check/error.h"
#include "core/tensor/elements_hash.h"

namespace simmesh {

namespace {

bool takes(const Receive& receive, const Message& message) {
  return receive.to == message.to && receive.tag == message.tag &&
         (!receive.from || *receive.from == message.from);
}

ResultPart payload_of(const HostMemory& host) {
  Tensor elements;
  host.load({&elements, 1});
  return {elements.storage()->buffer(), elements.storage()->buffer_offset(),
          Shape{elements.numel()}, elements.dtype(),
          elements_hash({elements.data(), elements.bytes()}, elements.dtype())};
}

}  // namespace

std::string Waiter::group() const { return mailbox_.group().describe(); }

std::string Waiter::operand(RankId) const {
  if (receive_) return describe_operand(receive_->dtype, receive_->shape);
  const Message* message = mailbox_.find(message_);
  return message ? describe_operand(message->payload.dtype, message->payload.shape) : "";
}

std::string Waiter::peer() const {
  const Membership& members = mailbox_.group();
  if (receive_ && !receive_->from) return fmt::format("from any rank, tag {}", receive_->tag);
  if (receive_)
    return fmt::format("from rank {}, tag {}", members.rank_of(*receive_->from), receive_->tag);
  const Message* message = mailbox_.find(message_);
  return message ? fmt::format("to rank {}, tag {}", members.rank_of(message->to), message->tag)
                 : "";
}

std::vector<RankId> Waiter::missing_ranks() const {
  const Membership& members = mailbox_.group();
  if (receive_)
    return receive_->from ? std::vector{members.rank_of(*receive_->from)} : std::vector<RankId>();
  const Message* message = mailbox_.find(message_);
  return message ? std::vector{members.rank_of(message->to)} : std::vector<RankId>();
}

std::string Waiter::difference() const {
  const Membership& members = mailbox_.group();
  auto rank = [&](std::size_t member) { return members.rank_of(member); };
  if (receive_) {
    std::string from = receive_->from ? fmt::format("rank {}", rank(*receive_->from)) : "any rank";
    std::string sends = mailbox_.open_sends_in_words({receive_->from, receive_->to});
    return fmt::format(
        "message number {} from {} to rank {} with tag {} of group {}:\n    receive by rank {} at "
        "{}\n    no send by {}{}",
        receive_->ordinal + 1, from, rank(receive_->to), receive_->tag, members.describe(),
        rank(receive_->to), to_string(receive_->site), from,
        sends.empty() ? "" : "; not received:" + sends);
  }
  const Message* message = mailbox_.find(message_);
  if (!message) return {};
  std::string receives = mailbox_.open_receives_in_words({message->from, message->to});
  return fmt::format(
      "message number {} from rank {} to rank {} with tag {} of group {}:\n    send by rank {} at "
      "{}\n    no receive by rank {}{}",
      message->ordinal + 1, rank(message->from), rank(message->to), message->tag,
      members.describe(), rank(message->from), to_string(message->site), rank(message->to),
      receives.empty() ? "" : "; it receives" + receives);
}

std::string Mailbox::open_sends_in_words(const Pair& pair) const {
  std::string text;
  for (const Pending& pending : messages_) {
    const Message& message = pending.message;
    if ((pair.from && message.from != *pair.from) || (pair.to && message.to != *pair.to)) continue;
    text += fmt::format("{} tag {} from rank {} at {}", text.empty() ? "" : ",", message.tag,
                        group_.rank_of(message.from), to_string(message.site));
  }
  return text;
}

std::string Mailbox::open_receives_in_words(const Pair& pair) const {
  std::string text;
  for (const Posted& posted : receives_) {
    const Receive& receive = *posted.receive;
    bool from_another = pair.from && receive.from && *receive.from != *pair.from;
    if (from_another || (pair.to && receive.to != *pair.to)) continue;
    text += fmt::format("{} tag {} at {}", text.empty() ? "" : ",", receive.tag,
                        to_string(receive.site));
  }
  return text;
}

void Mailbox::match(const Pending& pending, Receive& receive) {
  const ResultPart& payload = pending.message.payload;
  bool is_as_expected = payload.dtype == receive.dtype && payload.shape == receive.shape;
  if (!is_as_expected && !receive.any_type) {
    run_.touches().mark_disagreement(receive.object);
    raise(ErrorKind::runtime_error, "collectives/mismatch",
          "message of group {} with tag {}: the sizes differ: rank {} sends {}{} at {}, rank {} "
          "receives {}{} at {}",
          group_.describe(), receive.tag, group_.rank_of(pending.message.from),
          to_string(payload.dtype), to_string(DimSpan(payload.shape)),
          to_string(pending.message.site), group_.rank_of(receive.to), to_string(receive.dtype),
          to_string(DimSpan(receive.shape)), to_string(receive.site));
  }
  run_.fold((std::uint64_t(group_.id()) << 32) ^ (pending.message.from << 16) ^ receive.to);
  run_.record({.rank = group_.rank_of(receive.to),
               .kind = EventKind::match,
               .operation = "receive",
               .group = group_.id(),
               .sequence = std::uint32_t(pending.number),
               .elements = numel(payload.shape),
               .site = receive.site});
  if (run_.touches().is_listened_to()) [[unlikely]]
    run_.touches().join(message_key(pending.number), receive_key(receive.number));
  if (pending.message.times) pending.message.times->receiver = receive.ready;
  receive.message = pending.message;
  if (const HostMemory* host = pending.message.host.get())
    receive.message->payload = payload_of(*host);
  share_message(receive.message->payload, group_.rank_of(pending.message.from),
                group_.rank_of(receive.to));
  if (receive.host) receive.host->store({&receive.message->payload, 1});
}

// The mailbox holds nothing of the two any more: a rank that is woken runs ahead, and may drop what
// it has waited for.
void Mailbox::wake(std::uint64_t message, const Receive* receive) {
  for (auto it = sleepers_.begin(); it != sleepers_.end();) {
    if (!(*it)->waits_for(message, receive)) {
      ++it;
      continue;
    }
    run_.wake((*it)->rank().id());
    it = sleepers_.erase(it);
  }
}

std::uint64_t Mailbox::post(Message message) {
  message.ordinal = sends_[{std::int64_t(message.from), std::int64_t(message.to), message.tag}]++;
  Pending pending{next_number_++, std::move(message)};
  pending.message.number = pending.number;
  if (run_.touches().is_listened_to()) [[unlikely]]
    run_.touches().publish(this_rank().id(), message_key(pending.number));
  auto found = std::find_if(receives_.begin(), receives_.end(), [&](const Posted& posted) {
    return takes(*posted.receive, pending.message);
  });
  if (found == receives_.end()) {
    messages_.push_back(std::move(pending));
    return messages_.back().number;
  }
  Receive* receive = found->receive;
  match(pending, *receive);
  auto waits_for_it = [&](const Waiter* waiter) {
    return waiter->waits_for(pending.number, receive);
  };
  if (found->keep_alive && std::none_of(sleepers_.begin(), sleepers_.end(), waits_for_it))
    run_.leave_to(group_.rank_of(receive->to), std::move(found->keep_alive));
  receives_.erase(found);
  wake(pending.number, receive);
  return pending.number;
}

void Mailbox::post(Receive& receive, std::shared_ptr<Receive> keep_alive) {
  std::int64_t from = receive.from ? std::int64_t(*receive.from) : -1;
  receive.ordinal = posts_[{from, std::int64_t(receive.to), receive.tag}]++;
  receive.number = next_receive_++;
  if (run_.touches().is_listened_to()) [[unlikely]]
    run_.touches().publish(this_rank().id(), receive_key(receive.number));
  auto found = std::find_if(messages_.begin(), messages_.end(), [&](const Pending& pending) {
    return takes(receive, pending.message);
  });
  if (found == messages_.end()) {
    receives_.push_back({&receive, std::move(keep_alive)});
    return;
  }
  match(*found, receive);
  std::uint64_t number = found->number;
  messages_.erase(found);
  wake(number, &receive);
}

const Message* Mailbox::find(std::uint64_t message) const {
  auto found = std::find_if(messages_.begin(), messages_.end(),
                            [=](const Pending& pending) { return pending.number == message; });
  return found == messages_.end() ? nullptr : &found->message;
}

bool Mailbox::sleep(Waiter& waiter, const Activity& activity,
                    std::optional<double> deadline_seconds) {
  auto leave = [&] {
    sleepers_.erase(std::remove(sleepers_.begin(), sleepers_.end(), &waiter), sleepers_.end());
  };
  sleepers_.push_back(&waiter);
  try {
    if (!deadline_seconds) {
      run_.block(waiter.rank(), activity);
      return true;
    }
    if (run_.block_until(waiter.rank(), activity, *deadline_seconds)) return true;
  } catch (...) {
    // The rank may be a thread that is ended, while the run goes on.
    leave();
    throw;
  }
  leave();
  return false;
}

bool Mailbox::wait_received(std::uint64_t message, Rank& rank, const CallSite& site,
                            std::optional<double> deadline_seconds) {
  if (const Message* pending = find(message)) {
    std::uint64_t object = pending->object;
    Waiter waiter(*this, rank, message);
    if (!sleep(waiter,
               {.operation = "send", .waits_for = &waiter, .sequence = message, .site = site},
               deadline_seconds)) {
      run_.look_late(rank, object, site);
      if (!was_received(message)) return false;
    }
  }
  if (run_.touches().is_listened_to()) [[unlikely]]
    run_.touches().follow(rank.id(), message_key(message));
  return true;
}

bool Mailbox::wait_message(Receive& receive, Rank& rank, std::optional<double> deadline_seconds) {
  if (!receive.message) {
    Waiter waiter(*this, rank, receive);
    if (!sleep(waiter, {.operation = "receive", .waits_for = &waiter, .site = receive.site},
               deadline_seconds)) {
      run_.look_late(rank, receive.object, receive.site);
      if (!receive.message) return false;
    }
  }
  if (run_.touches().is_listened_to()) [[unlikely]]
    run_.touches().follow(rank.id(), message_key(receive.message->number));
  return true;
}

// Numbers under which the schedule knows what posted a message, and after its match also what
// posted its receive.
std::uint64_t Mailbox::message_key(std::uint64_t number) const {
  FoldHash key(group_.id());
  key.fold(2 * number);
  return key.value();
}

std::uint64_t Mailbox::receive_key(std::uint64_t number) const {
  FoldHash key(group_.id());
  key.fold(2 * number + 1);
  return key.value();
}

}  // namespace simmesh
