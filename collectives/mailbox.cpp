#include "collectives/mailbox.h"

#include <algorithm>

#include "collectives/group.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

bool takes(const Receive& receive, const Message& message) {
  return receive.to == message.to && receive.tag == message.tag &&
         (!receive.from || *receive.from == message.from);
}

}  // namespace

std::string Waiter::group() const { return group_.describe(); }

std::vector<RankId> Waiter::missing_ranks() const {
  if (!peer_) return {};
  return {RankId(group_.members()[std::int64_t(*peer_)])};
}

void Mailbox::match(const Pending& pending, Receive& receive) {
  const ResultPart& payload = pending.message.payload;
  if (payload.dtype != receive.dtype || payload.shape != receive.shape)
    raise(ErrorKind::runtime_error, "collectives/mismatch",
          "message of group {} with tag {}: the sizes differ: rank {} sends {}{} at {}, rank {} "
          "receives {}{} at {}",
          group_.describe(), receive.tag, group_.members()[std::int64_t(pending.message.from)],
          to_string(payload.dtype), to_string(DimSpan(payload.shape)),
          to_string(pending.message.site), group_.members()[std::int64_t(receive.to)],
          to_string(receive.dtype), to_string(DimSpan(receive.shape)), to_string(receive.site));
  Run& run = group_.run();
  run.fold((std::uint64_t(group_.id()) << 32) ^ (pending.message.from << 16) ^ receive.to);
  run.record({.rank = std::uint32_t(group_.members()[std::int64_t(receive.to)]),
              .kind = EventKind::match,
              .operation = "receive",
              .group = group_.id(),
              .sequence = std::uint32_t(pending.number),
              .elements = element_count(payload.shape),
              .site = receive.site});
  if (pending.message.times) pending.message.times->receiver = receive.ready;
  receive.message = pending.message;
  wake(pending.number, &receive);
}

void Mailbox::wake(std::uint64_t message, const Receive* receive) {
  for (auto it = sleepers_.begin(); it != sleepers_.end();) {
    bool is_meant = it->message == message || (receive && it->receive == receive);
    if (!is_meant) {
      ++it;
      continue;
    }
    group_.run().wake(it->waiter->rank().id());
    it = sleepers_.erase(it);
  }
}

std::uint64_t Mailbox::post(Message message) {
  Pending pending{next_number_++, std::move(message)};
  auto found = std::find_if(receives_.begin(), receives_.end(), [&](const Posted& posted) {
    return takes(*posted.receive, pending.message);
  });
  if (found == receives_.end()) {
    messages_.push_back(std::move(pending));
    return messages_.back().number;
  }
  match(pending, *found->receive);
  receives_.erase(found);
  return pending.number;
}

void Mailbox::post(Receive& receive, std::shared_ptr<Work::State> keep_alive) {
  auto found = std::find_if(messages_.begin(), messages_.end(), [&](const Pending& pending) {
    return takes(receive, pending.message);
  });
  if (found == messages_.end()) {
    receives_.push_back({&receive, std::move(keep_alive)});
    return;
  }
  match(*found, receive);
  messages_.erase(found);
}

bool Mailbox::was_received(std::uint64_t message) const {
  return std::none_of(messages_.begin(), messages_.end(),
                      [=](const Pending& pending) { return pending.number == message; });
}

void Mailbox::sleep(Sleeper sleeper, const Activity& activity) {
  sleepers_.push_back(sleeper);
  Rank& rank = sleeper.waiter->rank();
  group_.run().block(rank, activity);
}

void Mailbox::wait_received(std::uint64_t message, Rank& rank, const CallSite& site) {
  auto found = std::find_if(messages_.begin(), messages_.end(),
                            [=](const Pending& pending) { return pending.number == message; });
  if (found == messages_.end()) return;
  Waiter waiter(group_, rank, found->message.to);
  sleep({message, nullptr, &waiter}, {.operation = "send",
                                      .waits_for = &waiter,
                                      .sequence = message,
                                      .shape = &found->message.payload.shape,
                                      .dtype = found->message.payload.dtype,
                                      .site = site});
}

void Mailbox::wait_message(Receive& receive, Rank& rank) {
  if (receive.message) return;
  Waiter waiter(group_, rank, receive.from);
  sleep({0, &receive, &waiter}, {.operation = receive.from ? "receive" : "receive from any",
                                 .waits_for = &waiter,
                                 .shape = &receive.shape,
                                 .dtype = receive.dtype,
                                 .site = receive.site});
}

}  // namespace simmesh
