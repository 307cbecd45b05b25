#pragma once

#include <string>

#include "replay/chakra/chakra_trace.h"

namespace simmesh::replay {

// chakra_sample returns a trace with a value of every kind; node 1 waits for node 7.
inline ChakraTrace chakra_sample() {
  ChakraTrace trace{
      .version = "0.0.4",
      .metadata = {{"schema", std::string("1.0.2-chakra.0.0.4")}, {"pid", std::uint64_t(7)}}};
  trace.nodes.push_back(
      {.id = 1,
       .name = "allreduce",
       .type = ChakraNodeType::comm_coll,
       .ctrl_deps = {7},
       .data_deps = {7, 300},
       .start_us = 5,
       .duration_us = 11,
       .inputs = {"[[1,2]]", "[[4]]", "[\"Tensor(float)\"]"},
       .attributes = {
           {"is_cpu_op", false}, {"comm_type", std::int64_t(0)}, {"comm_size", std::int64_t(-1)}}});
  trace.nodes.push_back({.id = 300,
                         .name = "mm",
                         .type = ChakraNodeType::comp,
                         .duration_us = 2,
                         .attributes = {{"is_cpu_op", true},
                                        {"half", 0.5},
                                        {"flags", std::vector<bool>{true, false}},
                                        {"signed", std::vector<std::int64_t>{-1, 2}},
                                        {"unsigned", std::vector<std::uint64_t>{1, 2}},
                                        {"numbers", std::vector<double>{0.25}},
                                        {"texts", std::vector<std::string>{"a", ""}},
                                        {"none", std::monostate()}}});
  trace.nodes.push_back({.id = 7, .name = "root", .type = ChakraNodeType::metadata});
  trace.messages = 4;
  return trace;
}

}  // namespace simmesh::replay
