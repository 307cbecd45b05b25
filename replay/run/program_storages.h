#pragma once

#include <map>
#include <optional>
#include <utility>

#include "replay/memory/storage_reuse.h"
#include "replay/run/rank_program.h"

namespace simmesh::replay {

// ProgramStorages finds the storages of a rank's program, node by node, and adds them to it. Where
// an id comes back for other memory (StorageReuse) a new generation of it begins.
class ProgramStorages {
 public:
  ProgramStorages(const ExecutionTrace& trace, RankProgram& program);

  // begin_node tells that the tensors that follow are those of a node: first its inputs, then its
  // outputs.
  void begin_node(const TraceNode& node);

  // touch notes that the node computes with a tensor, or outputs it. Raises a ValueError for sizes
  // that no tensor has.
  void touch(const TraceTensor& tensor, bool is_input);

  // view_of returns the view of a tensor of a communication.
  ProgramTensor view_of(const TraceTensor& tensor, bool is_input);

  // scratch makes a storage for a tensor that the trace lacks.
  ProgramTensor scratch(std::int64_t elements, DType dtype);

  // use notes that a step uses the storages that were touched since the last call, and returns
  // them.
  TraceRange use(std::uint32_t step);

 private:
  using Key = std::pair<std::int64_t, TextId>;  // id and device
  struct Memory {
    StorageReuse reuse;
    std::optional<std::uint32_t> index;  // of its latest generation
  };

  std::uint32_t index_of(const TraceTensor& tensor, bool is_input, bool communicates);
  void require_sizes(const TraceTensor& tensor) const;

  const ExecutionTrace& trace_;
  RankProgram& program_;
  std::string_view device_;
  std::map<Key, Memory> memories_;
  std::vector<std::uint32_t> used_;
  std::size_t nodes_ = 0;  // so far
  std::int64_t node_ = 0;  // id of the current one
};

}  // namespace simmesh::replay
