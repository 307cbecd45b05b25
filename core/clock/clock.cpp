#include "core/clock/clock.h"

#include "core/check/error.h"

namespace simmesh {

Clock::Clock(const DeviceModel& model, std::uint32_t rank, Ledger& ledger)
    : model_(model), ledger_(ledger), rank_(rank) {
  ledger_.model_allocator({.capacity_bytes = model.capacity_bytes});
  make_stream("compute");
}

StreamIndex Clock::make_stream(std::string name) {
  timeline_.add_stream(name);
  names_.push_back(std::move(name));
  streams_.emplace_back();
  return StreamIndex(streams_.size() - 1);
}

void Clock::set_current_stream(StreamIndex stream) {
  current_ = stream;
  ledger_.allocator()->set_stream(stream);
}

void Clock::use(const Launch& launch, gsl::span<const MemoryRange> ranges, RaceChecker::Use use,
                const StreamOperation& operation) {
  const VectorClock& before = streams_[operation.stream].before;
  for (const MemoryRange& range : ranges) {
    bool by_host = range.storage_begin == 0 && !launch.copies_host_memory;
    std::string race = by_host ? checker_.use_on_host(range, use, launch.name, host_, names_)
                               : checker_.use(range, use, operation, before, names_);
    if (!race.empty()) raise(ErrorKind::runtime_error, "clock/race", "rank {}: {}", rank_, race);
  }
}

void Clock::launch(const Launch& launch) {
  if (!is_quiet()) put(current_, launch);
}

void Clock::put(StreamIndex index, const Launch& launch) {
  StreamState& stream = streams_[index];
  stream.before.join(host_);
  stream.before.set(index, ++stream.operations);
  ledger_.allocator()->launched(index, stream.operations);
  if (launch.collective)
    timeline_.launch(index, launch.cost_us, *launch.collective);
  else if (launch.message)
    timeline_.launch(index, *launch.message);
  else
    timeline_.launch(index, launch.cost_us);
  if (labels_operations_) timeline_.label(index, {launch.name, launch.site});
  if (!model_.checks_races) return;
  StreamOperation operation{launch.name, launch.site, index, stream.operations};
  use(launch, launch.reads, RaceChecker::Use::read, operation);
  use(launch, launch.writes, RaceChecker::Use::write, operation);
}

DeviceEvent Clock::record(StreamIndex stream) {
  return {timeline_.record(stream), streams_[stream].before};
}

void Clock::wait(StreamIndex stream, const DeviceEvent& event) {
  if (!event.index) return;
  streams_[stream].before.join(event.before);
  timeline_.wait(stream, *event.index);
}

RankEvent Clock::now() { return {rank_, timeline_.record(current_)}; }

void Clock::synchronize(const DeviceEvent& event) {
  if (!event.index) return;
  host_.join(event.before);
  timeline_.synchronize(*event.index);
  for (StreamIndex stream = 0; stream < event.before.streams(); ++stream)
    ledger_.allocator()->completed(stream, event.before.at(stream));
}

void Clock::record_stream(DeviceAddress address, StreamIndex stream) {
  ledger_.allocator()->record_stream(address, stream);
}

// Earlier work of the stream orders nothing: two collectives of a communicator follow one another,
// but no program may rely on it.
DeviceEvent Clock::start_apart(StreamIndex stream, const Launch& what) {
  DeviceEvent now = record(current_);
  streams_[stream].before = VectorClock();
  wait(stream, now);
  put(stream, what);
  return record(stream);
}

}  // namespace simmesh
