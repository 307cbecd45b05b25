#pragma once

#include <cstdint>
#include <gsl/span>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock/device_model.h"
#include "core/tensor/dtype.h"
#include "replay/job/job_groups.h"
#include "replay/job/trace_job.h"
#include "replay/trace/comm_kind.h"

namespace simmesh::replay {

// ProgramOptions say what of a job is replayed. All of it by default.
struct ProgramOptions {
  std::vector<std::size_t> steps = {};     // windows of the trace, in this order; empty: the trace
  std::vector<CommKind> kinds = {};        // of communications; empty: all
  std::vector<std::uint32_t> groups = {};  // in JobGroups::groups; empty: all
  bool computes = true;                    // operators take time and memory
};

// ProgramStorage is memory that tensors of a rank view. An id that the trace gives to other memory
// later is a new generation of it.
struct ProgramStorage {
  std::int64_t id = 0;
  std::uint32_t generation = 0;
  std::int64_t bytes = 0;       // up to the end of the last view
  bool is_on_device = false;    // else in the host's memory, which isn't charged
  bool is_leaf = false;         // is an input, or of a communication, before anything puts it out
  bool communicates = false;    // only such storages have elements
  std::uint32_t last_step = 0;  // that uses it, or waits for what does
};

// ProgramTensor is a view of a storage: elements that lie one after another.
struct ProgramTensor {
  std::uint32_t storage = 0;  // in RankProgram::storages
  std::int64_t begin_bytes = 0;
  std::int64_t elements = 0;
  DType dtype = DType::uint8;

  bool operator==(const ProgramTensor&) const = default;
};

// ProgramStep is one thing that a rank does.
struct ProgramStep {
  enum class Kind : std::uint8_t { compute, communicate, wait };

  Kind kind = Kind::compute;
  CommKind comm = CommKind::unknown;
  bool takes_any_source = false;  // a receive from whoever sends first
  // A communication goes on until its wait, or to the end of the iteration.
  bool is_asynchronous = false;
  // The tensors are a list with one for each member, or in, or out; else they are flat.
  bool is_list = false;
  std::int64_t node = 0;      // id
  TextId name = {};           // in RankProgram::texts, as recorded
  std::uint32_t group = 0;    // in ReplayProgram::groups
  std::int64_t member = 0;    // the own index in the group
  std::int64_t root = 0;      // index in the group; of a message that of the peer
  TraceRange inputs = {};     // in RankProgram::tensors
  TraceRange outputs = {};    // of operations in place the inputs
  TraceRange in_split = {};   // in RankProgram::numbers: elements for each member; of a flat
  TraceRange out_split = {};  // all-to-all always there
  TraceRange uses = {};       // in RankProgram::indices: storages
  TraceRange waits = {};      // in RankProgram::indices: steps that a wait ends
  KernelWork work = {};       // of an operator, estimated
};

// RankProgram is what one rank does, in the order of its trace.
struct RankProgram {
  std::int64_t rank = 0;
  std::string file;  // of the trace: what reports name
  std::vector<ProgramStep> steps;
  std::vector<ProgramStorage> storages;
  std::vector<ProgramTensor> tensors;
  std::vector<std::int64_t> numbers;
  std::vector<std::uint32_t> indices;
  TextPool texts;
  std::size_t operators = 0;
  std::size_t communications = 0;  // without waits
  // Waits for what began before the replay; asynchronous communications that nothing waits for.
  std::size_t dangling_waits = 0;
  std::size_t never_waited_for = 0;
  std::size_t left_out = 0;  // communications of unknown kinds, or that options leave out

  gsl::span<const ProgramTensor> tensors_in(TraceRange range) const {
    return gsl::span(tensors).subspan(range.begin, range.size());
  }
  gsl::span<const std::int64_t> numbers_in(TraceRange range) const {
    return gsl::span(numbers).subspan(range.begin, range.size());
  }
  gsl::span<const std::uint32_t> indices_in(TraceRange range) const {
    return gsl::span(indices).subspan(range.begin, range.size());
  }
};

// ReplayProgram is a job as a World can run it: what each rank does, in which groups. It needs the
// traces no more.
//
//   ReplayProgram program = make_program(job, resolve_groups(job, findings));
//   JobReplay replay = replay_job(program);
struct ReplayProgram {
  std::vector<JobGroup> groups;
  std::vector<RankProgram> ranks;  // all of the job's, by rank
  Findings warnings;               // what is left out, and why
};

// make_program makes a job's program by these rules (PARAM's comm_replay, where not said
// otherwise):
// - a communication is asynchronous where the trace says so (PyTorch 2.13), and in older traces if
//   a later node waits for its request; a wait without a group is for the earliest one with its
//   request;
// - a send hands its message over and goes on; messages of one request, one after another, are a
//   batch: all begin, and the program goes on when all have come;
// - dangling waits do nothing; communications of unknown kinds or without a group are left out,
//   with a warning.
// Raises a ValueError where ranks are missing (fill_missing_ranks makes them), an IndexError for a
// step that a trace doesn't have.
ReplayProgram make_program(const TraceJob& job, const JobGroups& groups,
                           const ProgramOptions& options = {});

}  // namespace simmesh::replay
