#pragma once

#include <map>
#include <utility>

#include "replay/run/replay_program.h"

namespace simmesh::replay {

// ProgramStorages finds the storages of a rank's program, node by node, and adds them to it.
class ProgramStorages {
 public:
  ProgramStorages(const ExecutionTrace& trace, RankProgram& program);

  // begin_node lets the outputs of a node begin new generations. Call it once for each node,
  // before tensors of the node are asked for.
  void begin_node(const TraceNode& node);

  // touch notes that the node has a tensor, as an input or else as an output. Raises a ValueError
  // for sizes that no tensor has.
  std::uint32_t touch(const TraceTensor& tensor, bool is_input);

  // view_of returns the view of a tensor of a communication.
  ProgramTensor view_of(const TraceTensor& tensor);

  // scratch makes a storage for a tensor that the trace doesn't have.
  ProgramTensor scratch(std::int64_t elements, DType dtype);

  // use notes that a step uses the storages that were touched since the last use, and returns them.
  TraceRange use(std::uint32_t step);

 private:
  using Key = std::pair<std::int64_t, TextId>;  // id and device

  std::uint32_t current(const TraceTensor& tensor, bool is_input);
  void require_sizes(const TraceTensor& tensor) const;
  void begin_generation(const TraceTensor& output);

  const ExecutionTrace& trace_;
  RankProgram& program_;
  std::string_view device_;
  std::map<Key, std::uint32_t> current_;
  std::vector<std::int64_t> item_bytes_;  // by storage
  std::vector<std::uint32_t> used_;
  std::int64_t node_ = 0;  // id of the one that is looked at
};

}  // namespace simmesh::replay
