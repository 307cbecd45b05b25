#include "core/engine/run/spread_run.h"

#include <algorithm>
#include <utility>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/engine/spread/message_bytes.h"

namespace simmesh {

namespace {

struct EndingFacts {
  std::uint8_t failed = 0;
  std::uint8_t is_told = 0;
  Failure::Kind kind = Failure::Kind::error;
  RankId rank = no_rank;
  std::int8_t error_kind = -1;
  std::uint64_t copies_on_write = 0;
};

std::exception_ptr error_from(int kind, const std::string& text) {
  if (kind < 0) return std::make_exception_ptr(std::runtime_error(text));
  return std::make_exception_ptr(Error::of_text(ErrorKind(kind), text));
}

int kind_of_error(const std::exception_ptr& exception) {
  if (!exception) return -1;
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return int(error.kind());
  } catch (...) {
    return -1;
  }
}

}  // namespace

std::unique_ptr<SpreadRun> SpreadRun::make(const WorldOptions& options,
                                           std::optional<int> owner_of_all, EndRank end_rank) {
  WorldSpread* spread = WorldSpread::active();
  if (!spread || options.shapes_only) return nullptr;
  if (options.threads > 1 || options.ranks_are_threads)
    raise(ErrorKind::value_error, "engine/spread",
          "expected a world of fibers on one thread in a program that is spread over processes, "
          "got {}",
          options.ranks_are_threads ? "ranks that are threads" : "several threads");
  return std::make_unique<SpreadRun>(*spread, options, owner_of_all, std::move(end_rank));
}

SpreadRun::SpreadRun(WorldSpread& spread, const WorldOptions& options,
                     std::optional<int> owner_of_all, EndRank end_rank)
    : spread_(spread),
      options_(options),
      end_rank_(std::move(end_rank)),
      run_(spread.next_run()),
      sent_(std::size_t(spread.count())),
      endings_(std::size_t(spread.count())) {
  owners_.reserve(options.ranks);
  for (RankId rank = 0; rank < options.ranks; ++rank)
    owners_.push_back(owner_of_all ? *owner_of_all : spread.owner_of({rank, options.ranks}));
}

int SpreadRun::owner(RankId id) const { return owners_[rank_behind(options_, id)]; }

void SpreadRun::end_rank() const {
  end_rank_();
  SIMMESH_CHECK(false, "a rank goes on after its run has ended");
}

// Keeps what a process tells at its end, if it is that.
bool SpreadRun::keep_ending(int process, ProcessFrame& frame) {
  bool is_ending = frame.kind == ProcessFrame::Kind::end && frame.run == run_;
  if (is_ending) endings_[std::size_t(process)] = std::move(frame.payload);
  return is_ending;
}

// Tells the others where this process waits, and for whom.
std::vector<Parcel> SpreadRun::notes_of(const ProcessFrame& here, gsl::span<const int> from) const {
  MessageWriter awaited;
  for (int i = 0; i < processes(); ++i)
    awaited.put(std::uint8_t(std::count(from.begin(), from.end(), i)));
  ProcessBytes bytes = frame_bytes(here, awaited.take());
  std::vector<Parcel> notes;
  for (int other : spread_.processes().others()) notes.push_back({other, bytes, true});
  return notes;
}

// Returns a process that waits for this one, which sends it nothing there; -1 for none. What it
// waits for in later exchanges may still come.
int SpreadRun::waits_in_vain(const ProcessFrame& here) const {
  for (int other : spread_.processes().others()) {
    const ProcessBytes& note = spread_.processes().note_of(other);
    if (note.empty()) continue;
    ProcessFrame there = frame_from(note);
    bool waits_for_me = there.payload.data()[process()] != std::byte{0};
    bool has_passed = there.run == run_ && there.number <= here.number &&
                      sent_[std::size_t(other)] < there.number;
    if (waits_for_me && has_passed) return other;
  }
  return -1;
}

// Nothing is received if a process is lost, or one waits for another in vain: the run is over then.
// World::run says so of a lost process once no rank is left.
std::vector<ProcessBytes> SpreadRun::transfer(const ProcessFrame& here,
                                              gsl::span<const Parcel> parcels,
                                              gsl::span<const int> from) {
  int waiting = -1;
  Processes::Idle idle = [&]() -> std::optional<std::vector<Parcel>> {
    waiting = waits_in_vain(here);
    if (waiting >= 0) return std::nullopt;
    return notes_of(here, from);
  };
  for (const Parcel& parcel : parcels) sent_[std::size_t(parcel.process)] = here.number;
  try {
    std::vector<ProcessBytes> received = spread_.processes().exchange(parcels, from, idle);
    if (waiting < 0) return received;
  } catch (const ProcessLost&) {
    lost_ = std::current_exception();
    is_told_ = true;
  }
  is_over_ = true;
  if (waiting >= 0) refuse_place(waiting, frame_from(spread_.processes().note_of(waiting)), here);
  return {};
}

// Parcels that share their bytes still do so afterwards.
void SpreadRun::frame_all(const ProcessFrame& here, std::vector<Parcel>& parcels) {
  std::vector<std::size_t> first_alike(parcels.size());
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    std::size_t first = 0;
    while (parcels[first].bytes.buffer() != parcels[i].bytes.buffer()) ++first;
    first_alike[i] = first;
  }
  // A frame is added without a copy of the payload to one that has no other owner.
  for (std::size_t i = 0; i < parcels.size(); ++i)
    if (first_alike[i] != i) parcels[i].bytes = {};
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    std::size_t first = first_alike[i];
    parcels[i].bytes =
        first == i ? frame_bytes(here, std::move(parcels[i].bytes)) : parcels[first].bytes;
  }
}

void SpreadRun::refuse_place(int process, const ProcessFrame& there,
                             const ProcessFrame& here) const {
  raise(ErrorKind::runtime_error, "engine/spread",
        "expected all processes to be at exchange {}, {}, got process {} at exchange {}, {}: {}",
        here.number, here.name, process, there.number, there.name, took_another_way);
}

// Looks at what came in place of a message, and ends the run if it is anything else.
void SpreadRun::see(int process, ProcessFrame& frame, std::string_view name) {
  ProcessFrame here = place(ProcessFrame::Kind::exchange, name);
  if (frame.is_at(here)) return;
  is_over_ = true;
  bool has_ended = keep_ending(process, frame);
  if (has_ended || frame.kind == ProcessFrame::Kind::failure) {
    is_told_ = true;
    if (has_ended)
      apart_ = fmt::format(
          "[engine/spread] expected all processes to be at exchange {}, {}, got the end of process "
          "{}: {}",
          here.number, here.name, process, took_another_way);
    end_rank();
  }
  refuse_place(process, frame, here);
}

void SpreadRun::begin_exchange() {
  if (is_over_) end_rank();
  ++number_;
}

std::vector<ProcessBytes> SpreadRun::exchange(std::string_view name, std::vector<Parcel> parcels,
                                              gsl::span<const int> from) {
  if (parcels.empty() && from.empty()) return {};
  ProcessFrame here = place(ProcessFrame::Kind::exchange, name);
  frame_all(here, parcels);
  std::vector<ProcessBytes> received = transfer(here, parcels, from);
  if (lost_) end_rank();
  for (std::size_t i = 0; i < received.size(); ++i) {
    ProcessFrame frame = frame_from(std::move(received[i]));
    see(from[i], frame, name);
    received[i] = std::move(frame.payload);
  }
  return received;
}

ProcessBytes SpreadRun::share(std::string_view name, int from, const ProcessBytes& bytes) {
  begin_exchange();
  if (process() != from) return std::move(exchange(name, {}, {&from, 1}).front());
  std::vector<Parcel> parcels;
  for (int other : spread_.processes().others()) parcels.push_back({other, bytes});
  exchange(name, std::move(parcels), {});
  return bytes;
}

void SpreadRun::tell_failure(RankId rank) {
  if (is_over_) return;
  ++number_;
  std::string name = fmt::format("the end of {} by an error", name_of(options_, rank));
  std::vector<int> all = spread_.processes().others();
  std::vector<Parcel> parcels;
  ProcessFrame here = place(ProcessFrame::Kind::failure, name);
  ProcessBytes bytes = frame_bytes(here, {});
  for (int other : all) parcels.push_back({other, bytes});
  std::vector<ProcessBytes> received;
  try {
    received = transfer(here, parcels, all);
  } catch (const Error&) {
    return;
  }
  for (std::size_t i = 0; i < received.size(); ++i) {
    ProcessFrame frame = frame_from(std::move(received[i]));
    bool has_ended = keep_ending(all[i], frame);
    is_over_ = is_over_ || has_ended || !frame.is_at(here);
  }
}

ProcessBytes SpreadRun::ending_bytes(const Ending& own) const {
  EndingFacts facts{.failed = own.failure.has_value(),
                    .is_told = is_told_,
                    .copies_on_write = own.copies_on_write};
  if (own.failure) {
    facts.kind = own.failure->kind;
    facts.rank = own.failure->rank;
    facts.error_kind = std::int8_t(kind_of_error(own.failure->exception));
  }
  MessageWriter writer;
  writer.put(facts);
  writer.put_text(own.failure ? own.failure->message : apart_);
  writer.put_text(own.failure ? own.failure->details : "");
  writer.put_text(own.failure && own.failure->exception ? message_of(own.failure->exception) : "");
  for (RankId id = 0; id < own.hashes.size(); ++id)
    if (owns(id)) {
      writer.put(own.hashes[id]);
      writer.put(own.peak_bytes[id]);
    }
  return writer.take();
}

// Takes in the endings of all others. What a process sent before its end, to ranks that have ended
// meanwhile, is left out.
void SpreadRun::swap_endings(const ProcessBytes& own) {
  std::vector<Parcel> parcels;
  std::vector<int> missing;
  ProcessBytes bytes = frame_bytes(place(ProcessFrame::Kind::end, "the end"), own);
  for (int other : spread_.processes().others()) {
    parcels.push_back({other, bytes});
    if (endings_[std::size_t(other)].empty()) missing.push_back(other);
  }
  endings_[std::size_t(process())] = own;
  for (;;) {
    std::vector<ProcessBytes> received = spread_.processes().exchange(parcels, missing);
    parcels.clear();
    std::vector<int> later;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      ProcessFrame frame = frame_from(std::move(received[i]));
      if (frame.run == 0)
        throw ProcessesApart(fmt::format(
            "[engine/spread] expected all processes in run {}, got process {} at {}: {}", run_,
            missing[i], frame.text(), took_another_way));
      if (!keep_ending(missing[i], frame)) later.push_back(missing[i]);
    }
    if (later.empty()) return;
    missing = std::move(later);
  }
}

// A process that was told of a failure has no report of its own.
SpreadRun::Ending SpreadRun::end(Ending own) {
  if (lost_) std::rethrow_exception(lost_);
  swap_endings(ending_bytes(own));
  Ending all{.hashes = own.hashes, .peak_bytes = own.peak_bytes};
  std::optional<Failure> told;
  std::string apart;
  for (int i = 0; i < processes(); ++i) {
    MessageReader reader(endings_[std::size_t(i)]);
    auto facts = reader.get<EndingFacts>();
    Failure failure{.kind = facts.kind, .rank = facts.rank};
    failure.message = reader.get_text();
    failure.details = reader.get_text();
    std::string error = reader.get_text();
    if (!error.empty()) failure.exception = error_from(facts.error_kind, error);
    if (!facts.failed && apart.empty()) apart = failure.message;
    std::optional<Failure>& first = facts.is_told ? told : all.failure;
    if (facts.failed && (!first || failure.rank < first->rank)) first = std::move(failure);
    all.copies_on_write += facts.copies_on_write;
    for (RankId id = 0; id < all.hashes.size(); ++id)
      if (owner(id) == i) {
        all.hashes[id] = reader.get<std::uint64_t>();
        all.peak_bytes[id] = reader.get<std::int64_t>();
      }
  }
  if (!all.failure) all.failure = std::move(told);
  // A process that another one's end has stopped is the only one to know.
  if (!all.failure && !apart.empty()) all.failure = Failure{.message = apart};
  bool is_own = own.failure && (!all.failure || (own.failure->rank == all.failure->rank &&
                                                 own.failure->message == all.failure->message));
  if (is_own) all.failure = std::move(own.failure);
  return all;
}

}  // namespace simmesh
