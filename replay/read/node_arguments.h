#pragma once

#include <cstdint>
#include <optional>
#include <simdjson.h>
#include <string_view>
#include <vector>

#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// NodeArguments are the inputs or outputs of a node as the trace has them: parallel lists.
struct NodeArguments {
  std::optional<simdjson::dom::element> values;
  std::optional<simdjson::dom::element> shapes;
  std::optional<simdjson::dom::element> types;
  std::optional<simdjson::dom::element> strides;
};

// ArgumentReader adds the tensors and lists of integers of a node's arguments to a trace.
class ArgumentReader {
 public:
  struct Side {
    std::int64_t node = 0;   // whose arguments they are
    std::string_view field;  // "inputs" or "outputs"
    bool keeps_lists = false;
  };

  ArgumentReader(ExecutionTrace& trace, Side side) : trace_(trace), side_(side) {}

  // tensors adds the tensors, including those in lists, and returns their range. Faults are added
  // to the trace's findings with node and field. Lists of integers go to ExecutionTrace::ranges
  // where keeps_lists.
  TraceRange tensors(NodeArguments arguments);

 private:
  // One argument of a node, or an entry of one: its parts.
  struct Argument {
    simdjson::dom::element value;
    std::optional<simdjson::dom::element> shape;
    std::optional<simdjson::dom::element> strides;
    std::string_view type;
  };

  void add(const Argument& argument);
  void add_list(const Argument& argument, std::string_view entry_types);
  void add_tensor(const Argument& argument);
  std::optional<TraceRange> dims(const std::optional<simdjson::dom::element>& list);
  void report(std::string_view rule, std::string message);

  ExecutionTrace& trace_;
  Side side_;
};

// add_integers appends the entries of a list of integers; for anything else it appends nothing and
// returns false.
bool add_integers(const simdjson::dom::element& list, std::vector<std::int64_t>& numbers);

// next_type takes the first type off a list of types: of "Tensor(float),GenericList[Int,Int]" the
// part up to the first comma outside of brackets.
std::string_view next_type(std::string_view& types);

// c10_type returns the name in attributes for the type inside "Tensor(...)": "Long" for "long int",
// "BFloat16" for "c10::BFloat16". Unknown names come back unchanged.
std::string_view c10_type(std::string_view type);

}  // namespace simmesh::replay
