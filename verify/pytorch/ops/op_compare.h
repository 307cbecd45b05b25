#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/check/error.h"
#include "verify/pytorch/ops/op_run.h"

namespace simmesh {

// OpExpectation checks the runs of a case on all ranks against the recorded results and
// collectives, or the refusal. A case may pass in two more ways, which the report counts. Cheaper:
// the whole results are the recorded ones, other placements cost less to reach than PyTorch's, and
// the call on PyTorch's has the recorded placements, pieces and collectives.
// Beyond: PyTorch refuses the call, and the result is that of the call on whole tensors.
class OpExpectation {
 public:
  // The case must outlive the expectation.
  OpExpectation(const RecordedCase& recorded, const OpCase& in);

  // may_go_beyond is true if a right result is as good as the recorded refusal.
  bool may_go_beyond() const { return may_go_beyond_; }

  // is_recorded_refusal is true if the runs ended, with this error, as the case says.
  bool is_recorded_refusal(const std::vector<OpRun>& runs, const Error& error) const;

  // check compares the results of the ranks. Where these can't be compared with the recorded plan,
  // it asks for a run of that plan (OpRunOptions::follows_recorded).
  using RunRecorded = std::function<OpEnding(CaseReport& report)>;
  void check(const OpEnding& ending, const RunRecorded& run_recorded, CaseReport& report) const;

 private:
  void check_refusal(const std::vector<OpRun>& runs, const Error* error, CaseReport& report) const;
  void check_operator(const std::vector<OpRun>& runs, CaseReport& report) const;
  void check_tensors(bool runs_nothing, CaseReport& report) const;
  void check_steps(const std::vector<OpRun>& runs, CaseReport& report) const;
  void check_recorded(const RunRecorded& run_recorded, CaseReport& report) const;
  void check_whole(const std::vector<OpRun>& runs, CaseReport& report) const;
  void compare(const OpRun& run, std::size_t rank, ResultDifferences& differences) const;
  void compare_outputs(const OpRun& run, std::size_t rank, ResultDifferences& differences) const;
  void compare_gradients(const OpRun& run, std::size_t rank, ResultDifferences& differences) const;
  void compare_used(const OpRun& run, std::size_t rank, ResultDifferences& differences) const;

  std::string refusal_class_, refusal_phrase_;
  bool is_refusal_ = false;
  bool is_backward_refusal_ = false;
  bool may_go_beyond_ = false;
  const OpCase& in_;
};

}  // namespace simmesh
