#include "verify/pipeline/muon_case.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

optim::TorchMuonOptions options_of(const std::string& fields) {
  RecordedCase recorded =
      RecordedCase::parse(R"({"kind":"muon","id":"a","options":)" + fields + "}", {.file = "a"});
  return read_muon_options(recorded["options"]);
}

// If this fails, a case runs with other options than it names.
TEST(MuonCase, ReadsOptionsAndKeepsDefaults) {
  optim::TorchMuonOptions plain = options_of("{}");
  EXPECT_EQ(plain.lr, 1e-3);
  EXPECT_EQ(plain.iteration.steps, 5);
  EXPECT_TRUE(plain.nesterov);
  optim::TorchMuonOptions given = options_of(
      R"({"lr":2,"weight_decay":3,"momentum":4,"nesterov":false,"ns_coefficients":[1,2,3],"eps":5,
          "ns_steps":6,"adjust_lr_fn":"match_rms_adamw"})");
  EXPECT_EQ(given.lr, 2);
  EXPECT_EQ(given.weight_decay, 3);
  EXPECT_EQ(given.momentum, 4);
  EXPECT_FALSE(given.nesterov);
  EXPECT_EQ(given.iteration.coefficients, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(given.iteration.eps, 5);
  EXPECT_EQ(given.iteration.steps, 6);
  EXPECT_EQ(given.adjust_lr, optim::MuonRate::match_rms_adamw);
  EXPECT_EQ(options_of(R"({"adjust_lr_fn":null})").adjust_lr, optim::MuonRate::original);
  testing::expect_error([] { options_of(R"({"adjust_lr_fn":"rms"})"); }, ErrorKind::value_error,
                        "not supported");
  EXPECT_EQ(muon_option_fields().size(), 8u);
}

}  // namespace
}  // namespace simmesh
