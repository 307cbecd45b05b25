#pragma once

#include <cstdint>
#include <gsl/span>
#include <string>
#include <vector>

#include "core/clock/device_model.h"
#include "core/tensor/dtype.h"
#include "replay/trace/comm_kind.h"
#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// ProgramStorage is memory that tensors of a rank view. An id that the trace gives to other memory
// later is a new generation of it.
struct ProgramStorage {
  std::int64_t id = 0;
  std::uint32_t generation = 0;
  std::int64_t bytes = 0;       // up to the end of the last view
  bool is_on_device = false;    // else in the host's memory, which isn't charged
  bool is_leaf = false;         // is an input, or of a communication, before anything outputs it
  bool communicates = false;    // only such storages have elements
  std::uint32_t last_step = 0;  // the last step that uses it, or waits for one that does
};

// ProgramTensor is a view of a storage: contiguous elements.
struct ProgramTensor {
  std::uint32_t storage = 0;  // in RankProgram::storages
  std::int64_t begin_bytes = 0;
  std::int64_t elements = 0;
  DType dtype = DType::uint8;

  bool operator==(const ProgramTensor&) const = default;
};

// ProgramStep is one action of a rank.
struct ProgramStep {
  enum class Kind : std::uint8_t { compute, communicate, wait };

  Kind kind = Kind::compute;
  CommKind comm = CommKind::unknown;
  bool takes_any_source = false;  // a receive from any rank
  // True if the communication continues until its wait, or to the end of the iteration.
  bool is_asynchronous = false;
  // True if the tensors are a list with one for each member, in or out; otherwise they are flat.
  bool is_list = false;
  std::int64_t node = 0;      // id
  TextId name = {};           // in RankProgram::texts, as recorded
  std::uint32_t group = 0;    // in ReplayProgram::groups
  std::int64_t member = 0;    // the own index in the group
  std::int64_t root = 0;      // index in the group; for a message that of the peer
  TraceRange inputs = {};     // in RankProgram::tensors
  TraceRange outputs = {};    // of operations in place the inputs
  TraceRange in_split = {};   // in RankProgram::numbers: elements for each member; of a flat
  TraceRange out_split = {};  // all-to-all always present
  TraceRange uses = {};       // in RankProgram::indices: storages
  TraceRange waits = {};      // in RankProgram::indices: steps that a wait ends
  KernelWork work = {};       // of an operator, estimated
};

// operator_us returns how long an operator takes on a device, by the bytes and operations of its
// work; 0 where there are none.
double operator_us(const ProgramStep& step, const DeviceModel& model);

// RankProgram is the actions of one rank, in the order of its trace.
struct RankProgram {
  std::int64_t rank = 0;
  std::string file;  // of the trace, for reports
  std::vector<ProgramStep> steps;
  std::vector<ProgramStorage> storages;
  std::vector<ProgramTensor> tensors;
  std::vector<std::int64_t> numbers;
  std::vector<std::uint32_t> indices;
  TextPool texts;
  std::size_t operators = 0;
  std::size_t communications = 0;  // without waits
  // Waits for communications that began before the replay; asynchronous communications that nothing
  // waits for.
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

}  // namespace simmesh::replay
