#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace simmesh::replay {

// ChakraNodeType is the kind of a node of a Chakra trace. The numbers are those of the schema.
enum class ChakraNodeType : std::uint8_t {
  invalid = 0,
  metadata = 1,
  mem_load = 2,
  mem_store = 3,
  comp = 4,
  comm_send = 5,
  comm_recv = 6,
  comm_coll = 7,
};
// to_string returns the schema's name, "COMM_COLL_NODE", and the number of a type that the schema
// doesn't name.
std::string to_string(ChakraNodeType type);

// ChakraCommType is a collective, by the numbers that the attribute "comm_type" has.
enum class ChakraCommType : std::uint8_t {
  all_reduce = 0,
  reduce = 1,
  all_gather = 2,
  gather = 3,
  scatter = 4,
  broadcast = 5,
  all_to_all = 6,
  reduce_scatter = 7,
  reduce_scatter_block = 8,
  barrier = 9,
};

// ChakraValue is the value of an attribute; integers of all widths, and floating numbers of both,
// are the widest of their kind, and bytes are a text.
using ChakraValue =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                 std::vector<bool>, std::vector<std::int64_t>, std::vector<std::uint64_t>,
                 std::vector<double>, std::vector<std::string>>;

// ChakraAttribute is a named value of a node, or of the whole trace: "comm_size".
struct ChakraAttribute {
  std::string name;
  ChakraValue value;

  bool operator==(const ChakraAttribute&) const = default;
};

// ChakraIo are a node's inputs or outputs, each as the text of a list.
struct ChakraIo {
  std::string values;
  std::string shapes;
  std::string types;

  bool operator==(const ChakraIo&) const = default;
};

// ChakraNode is a node of a Chakra trace. Control dependencies are callers; data dependencies alone
// order execution.
struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  ChakraNodeType type = ChakraNodeType::invalid;
  std::vector<std::uint64_t> ctrl_deps;
  std::vector<std::uint64_t> data_deps;
  std::uint64_t start_us = 0;
  std::uint64_t duration_us = 0;
  ChakraIo inputs;
  ChakraIo outputs;
  std::vector<ChakraAttribute> attributes;

  // find returns the value of an attribute; null where there is none.
  const ChakraValue* find(std::string_view name) const;
  // is_cpu_op is the attribute of that name; false where there is none.
  bool is_cpu_op() const;
  bool is_comm() const;

  bool operator==(const ChakraNode&) const = default;
};

// ChakraTrace is the trace of one rank in the form of MLCommons Chakra: a graph, in the order of
// the file.
struct ChakraTrace {
  std::string version;
  std::vector<ChakraAttribute> metadata;
  std::vector<ChakraNode> nodes;
  std::int64_t messages = 0;  // of the protobuf form, the one of the metadata among them

  bool operator==(const ChakraTrace&) const = default;
};

}  // namespace simmesh::replay
