#pragma once

#include <vector>

#include "training/zero_training.h"
#include "verify/case_kind.h"

namespace simmesh {

// ZeroComparison is how close figures must be.
struct ZeroComparison {
  bool exact_losses = false, exact_parameters = false;
  double params_rtol = 0, loss_rtol = 0, norm_rtol = 0, atol = 0;

  static ZeroComparison read(const CaseField& field);

  // is_near compares within the tolerance; a negative one means none at all.
  bool is_near(double actual, double expected, double rtol) const;
};

// ZeroRankCheck compares the state of one rank with the expected one, and reports the differences.
// Everything to which it refers must outlive it.
class ZeroRankCheck {
 public:
  ZeroRankCheck(CaseReport& report, const ZeroTask& task, const ZeroComparison& comparison,
                const ZeroResult& result, std::size_t rank)
      : report_(report), task_(task), comparison_(comparison), result_(result), rank_(rank) {}

  // expect_step compares a step: losses, norm, loss scales, whether it was skipped, and the hash of
  // the parameters.
  void expect_step(const CaseField& expected, std::size_t index);
  // expect_parameters compares the parameters and masters after the last step.
  void expect_parameters(const CaseField& expected);

 private:
  void expect_near(const std::string& who, double expected, double actual, double rtol);
  void expect_losses(const CaseField& expected, const std::string& who, const ZeroStep& step);
  void expect_norm(const CaseField& expected, const std::string& who, const ZeroStep& step);
  void expect_tensor(const std::string& name, const std::optional<CaseField>& hash,
                     const CaseField& expected, const Tensor& actual);
  void expect_sum(const std::string& name, const CaseField& expected, const Tensor& actual);

  CaseReport& report_;
  const ZeroTask& task_;
  const ZeroComparison& comparison_;
  const ZeroResult& result_;
  std::size_t rank_;
};

// expect_recorded_hashes checks a case whose parameters are compared by tolerance: no run of ours
// can have its hash, but the last hash is that of the recorded values, and a skipped step doesn't
// change the parameters.
void expect_recorded_hashes(const ZeroTask& task, const CaseField& expect, CaseReport& report);

}  // namespace simmesh
