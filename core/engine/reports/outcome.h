#pragma once

#include <cstdint>
#include <exception>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include "core/check/repro.h"
#include "core/clock/device_report.h"
#include "core/engine/ranks/rank_figures.h"
#include "core/engine/schedules/schedule.h"

namespace simmesh {

// Failure is the reason for which a run ended early. rank is the first, in rank order, of the ranks
// that failed by themselves; no_rank for a deadlock, for a schedule that can't be followed and for
// an interrupt.
struct Failure {
  // Kind is the kind of the end: a rank's error, a deadlock, a schedule that can't be followed, or
  // an interrupt.
  enum class Kind { error, deadlock, schedule, interrupt };

  Kind kind = Kind::error;
  RankId rank = no_rank;
  std::string message;
  // details has the activity of every other rank, and for a deadlock the cycle and the first call
  // that differs.
  std::string details;
  std::exception_ptr exception;
};

// message_of returns the text of an exception.
std::string message_of(const std::exception_ptr& exception);

// Touch is one use, at a step of the schedule, of an object whose users' order can matter: a
// mailbox that is received from with any source, shared state, or an operation of which a rank asks
// whether it has completed.
struct Touch {
  std::uint64_t step = 0;
  RankId rank = no_rank;
  std::uint64_t object = 0;
};

// Outcome is the result of one run. Equal programs, inputs, seeds and arithmetic give equal data
// hashes under every schedule and any number of threads; the schedule hash names the interleaving.
struct Outcome {
  std::uint64_t data_hash = 0;
  std::uint64_t schedule_hash = 0;
  std::uint64_t steps = 0;
  std::size_t ranks = 0;
  // Simulated bytes are those of the rank that held the most; physical bytes are those that the
  // process used for buffers.
  std::int64_t peak_bytes = 0;
  std::int64_t physical_peak_bytes = 0;
  std::uint64_t copies_on_write = 0;
  // live_storages counts the storages that the bodies left alive, for instance in variables outside
  // them.
  std::int64_t live_storages = 0;
  // choices is the recorded schedule, if WorldOptions::record_choices asked for it.
  std::vector<RankId> choices;
  // touches holds the uses that are sensitive to their order. None means that every schedule is
  // equivalent to this one.
  std::vector<Touch> touches;
  // shapes_only is true of a world of shapes, and figures has those of each rank that was run. In a
  // folded world these few ranks stand for all ranks. fold_difference says where they differ, so
  // that they can't, and is empty if they agree.
  bool shapes_only = false;
  std::vector<RankFigures> figures;
  std::string fold_difference;
  // devices has a report of each rank that was run, if WorldOptions::device modelled devices. Times
  // are those of runs that were ok.
  std::vector<DeviceReport> devices;
  std::optional<Failure> failure;
  Repro repro;

  bool ok() const { return !failure; }
  // was_interrupted is true if a request ended the run, and no failure of its own.
  bool was_interrupted() const { return failure && failure->kind == Failure::Kind::interrupt; }
  bool is_folded() const { return shapes_only && figures.size() < ranks; }
  // rethrow raises the failing rank's own exception, or a RuntimeError with the report; returns if
  // the run was ok.
  void rethrow() const;
};

// report returns the failure in full, ending with the line that reproduces it; empty if the run was
// ok.
std::string report(const Outcome& outcome);

// to_string returns one line for a run that was ok, else the report.
std::string to_string(const Outcome& outcome);

}  // namespace simmesh

template <>
struct fmt::formatter<simmesh::Outcome> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  // format writes what to_string returns.
  fmt::appender format(const simmesh::Outcome& outcome, fmt::format_context& context) const;
};
