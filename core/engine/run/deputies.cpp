#include "core/engine/run/deputies.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/engine/reports/outcome.h"

namespace simmesh {

Deputies::Deputies(const WorldOptions& options)
    : options_(options), desks_(options.ranks * options.deputies) {}

void Deputies::give(const Work& work) {
  Desk& desk = desk_of(work->deputy);
  work->number = ++desk.given;
  FoldHash object(work->deputy);
  object.fold(work->number);
  work->object = object.value();
  desk.work.push_back(work);
}

Deputies::Work Deputies::begin(RankId deputy) {
  Desk& desk = desk_of(deputy);
  if (desk.work.empty()) return nullptr;
  Work work = std::move(desk.work.front());
  desk.work.pop_front();
  desk.working_on = work->number;
  return work;
}

RankId Deputies::end(const Work& work, std::exception_ptr error) {
  work->is_done = true;
  if (error && !work->is_lost) {
    work->error = std::move(error);
    failed_.push_back(work);
  }
  auto awaited = std::find(awaited_.begin(), awaited_.end(), work);
  if (awaited == awaited_.end()) return no_rank;
  awaited_.erase(awaited);
  return work->owner;
}

void Deputies::await(const Work& work) { awaited_.push_back(work); }

// Returns the failure that strands a crew, null for none. If all deputies with work of that number
// have failed, none is stranded.
const DeputyWork* Deputies::failure_in(std::size_t crew, const IsBlocked& is_blocked) const {
  for (const Work& work : failed_) {
    if (crew_of(options_, work->deputy) != crew) continue;
    for (std::size_t rank = 0; rank < options_.ranks; ++rank) {
      RankId deputy = deputy_id(options_, RankId(rank), crew - 1);
      if (desk_of(deputy).working_on == work->number && is_blocked(deputy)) return work.get();
    }
  }
  return nullptr;
}

bool Deputies::is_stranded(std::size_t crew, const IsBlocked& is_blocked) const {
  return failure_in(crew, is_blocked) != nullptr;
}

std::vector<RankId> Deputies::give_up_stranded(const IsBlocked& is_blocked) {
  std::vector<RankId> woken;
  for (const Work& work : std::exchange(awaited_, {})) {
    const DeputyWork* failed = failure_in(crew_of(options_, work->deputy), is_blocked);
    if (!failed) {
      awaited_.push_back(work);
      continue;
    }
    try {
      raise(ErrorKind::runtime_error, "engine/deputy", "{} can't go on, for {} has failed: {}",
            work->deputy_name, failed->deputy_name, message_of(failed->error));
    } catch (const Error&) {
      work->error = std::current_exception();
    }
    work->is_lost = true;
    woken.push_back(work->owner);
  }
  return woken;
}

std::vector<Deputies::Work> Deputies::unheard() const {
  std::vector<Work> found;
  std::copy_if(failed_.begin(), failed_.end(), std::back_inserter(found),
               [](const Work& work) { return !work->error_is_known; });
  return found;
}

void Deputies::drop() {
  for (Desk& desk : desks_) {
    for (const Work& work : desk.work) work->work = nullptr;
    desk.work.clear();
  }
}

}  // namespace simmesh
