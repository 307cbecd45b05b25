#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "replay/read/json_values.h"
#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// NodeArguments are the inputs or outputs of a node as the trace has them: parallel lists.
struct NodeArguments {
  std::optional<JsonValues::Index> values;
  std::optional<JsonValues::Index> shapes;
  std::optional<JsonValues::Index> types;
  std::optional<JsonValues::Index> strides;
};

// ArgumentReader adds the tensors and lists of integers of a node's arguments to a trace.
class ArgumentReader {
 public:
  ArgumentReader(const JsonValues& json, ExecutionTrace& trace) : json_(json), trace_(trace) {}

  // tensors adds the tensors, those in lists included, and returns where they stand. Faults are
  // added to the trace's findings with the node's id and the field "inputs" or "outputs". Lists of
  // integers go to ExecutionTrace::ranges where keeps_lists.
  TraceRange tensors(const NodeArguments& arguments, std::int64_t node, std::string_view field,
                     bool keeps_lists);

 private:
  // One argument of a node, or an entry of one: indices of its parts.
  struct Argument {
    JsonValues::Index value;
    std::optional<JsonValues::Index> shape;
    std::optional<JsonValues::Index> strides;
    std::string_view type;
  };

  void add(const Argument& argument);
  void add_list(const Argument& argument, std::string_view entry_types);
  void add_tensor(const Argument& argument);
  std::optional<TraceRange> dims(std::optional<JsonValues::Index> list);
  void report(std::string_view rule, std::string message);

  const JsonValues& json_;
  ExecutionTrace& trace_;
  std::int64_t node_ = 0;
  std::string_view field_;
  bool keeps_lists_ = false;
};

// next_type takes the first type of a list of types: of "Tensor(float),GenericList[Int,Int]" the
// part up to the first comma outside of brackets.
std::string_view next_type(std::string_view& types);

// c10_type returns the name that attributes have for what stands inside "Tensor(...)": "Long" for
// "long int", "BFloat16" for "c10::BFloat16". Unknown names come back as they are.
std::string_view c10_type(std::string_view type);

}  // namespace simmesh::replay
