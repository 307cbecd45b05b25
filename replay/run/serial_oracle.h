#pragma once

#include <string>
#include <vector>

#include "core/engine/options/arithmetic.h"
#include "replay/run/meetings.h"
#include "replay/run/rank_replay.h"

namespace simmesh::replay {

// OracleOptions are the options with which a replay was run. The oracle knows two arithmetics: the
// left fold in the order of the group (canonical and rank_order), and exact; under others sums that
// round have no answer.
struct OracleOptions {
  Payload payload = {};
  Arithmetic arithmetic = Arithmetic::canonical();
  bool keeps_outputs = false;
};

// serial_oracle returns the correct output of each communication of each rank, by rank and step:
// plain loops over the data that all ranks send, without World, engine or collectives. Collectives
// that not all members call, or whose sides don't fit, and messages to any source have no answer.
std::vector<std::vector<CommOutput>> serial_oracle(const ReplayProgram& program,
                                                   const JobMeetings& meetings,
                                                   const OracleOptions& options = {});

// differences describes how a replay's outputs differ from the oracle's, one line a communication:
// "rank 3 node 1103 all_to_allv: output 0: byte 12 of 3072 ..."; empty where none do. Bytes are
// compared where both sides keep them, else hashes. compared gets the number of outputs that were
// compared.
std::vector<std::string> differences(const ReplayProgram& program,
                                     const std::vector<std::vector<CommOutput>>& expected,
                                     const std::vector<std::vector<CommOutput>>& outputs,
                                     std::size_t* compared = nullptr);

}  // namespace simmesh::replay
