#include "replay/run/fit_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/replay/analysis/hand_timeline.h"
#include "tests/replay/run/hand_job.h"
#include "tests/replay/run/recorded_jobs.h"

namespace simmesh::replay {

namespace {

constexpr double fitted_gib = 1024.0 * 1024.0 * 1024.0;

// Sums of these sizes on two ranks, each of which moves all of its bytes, and their times. Rank 1
// comes late to every other one, but transfers take as long.
FittedLinks fit_of(const std::vector<std::pair<std::int64_t, double>>& sums) {
  samples::HandJob job(2);
  std::vector<std::vector<simmesh::testing::HandSpan>> spans(2);
  double now_us = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double late_us = i % 3 == 0 ? 0 : 7 * double(i);
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      std::vector<samples::HandTensor> tensors = {{.storage = 1, .elements = sums[i].first / 4}};
      job.comm(rank, {.name = "allreduce", .inputs = tensors, .outputs = tensors});
    }
    spans[0].push_back(simmesh::testing::comm(now_us, now_us + late_us + sums[i].second));
    spans[1].push_back(simmesh::testing::comm(now_us + late_us, now_us + late_us + sums[i].second));
    now_us += 1000;
  }
  ReplayProgram program = job.program();
  return fit_links(program, meetings_of(program), simmesh::testing::hand_job(spans));
}

double linear_us(std::int64_t bytes) { return 5 + double(bytes) / (10 * fitted_gib) * 1e6; }

// Would fail if links that take exactly such times weren't found, or late ranks made them slower.
TEST(FitLinks, FindLatencyAndBandwidth) {
  std::vector<std::pair<std::int64_t, double>> sums;
  for (std::int64_t bytes : {4000, 8000000, 100000, 400, 4000000, 2000000})
    sums.push_back({bytes, linear_us(bytes)});
  FittedLinks links = fit_of(sums);
  // Times near 5,000 us are differences of doubles, which are right to 2^-40 us.
  EXPECT_NEAR(links.latency_us, 5, 1e-8);
  EXPECT_NEAR(links.bandwidth_gb_s, 10, 1e-8);
  EXPECT_NEAR(links.fitted_error_us, 0, 1e-8);
  EXPECT_NEAR(links.predicted_error_us, 0, 1e-8);
  ASSERT_EQ(links.collectives.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(links.collectives[i].is_fitted, i % 2 == 0);
    EXPECT_DOUBLE_EQ(links.collectives[i].moved_bytes, double(sums[i].first));
  }
}

// Would fail if the predicted collectives had been used in the fit.
TEST(FitLinks, PredictedOnesDontCount) {
  FittedLinks links = fit_of({{4000, linear_us(4000)}, {4000, 900}, {8000000, linear_us(8000000)}});
  EXPECT_NEAR(links.latency_us, 5, 1e-8);
  EXPECT_NEAR(links.predicted_error_us, 900 - linear_us(4000), 1e-8);
}

// Would fail if a figure came out negative.
TEST(FitLinks, NeitherFigureIsNegative) {
  FittedLinks flat = fit_of({{4000, 30}, {0, 0}, {8000000, 20}});
  EXPECT_EQ(flat.bandwidth_gb_s, 0);
  EXPECT_NEAR(flat.latency_us, 25, 1e-9);
  EXPECT_NEAR(flat.collectives[2].predicted_us, 25, 1e-3);
  FittedLinks steep = fit_of({{4000000, 10}, {0, 0}, {8000000, 40}});
  EXPECT_EQ(steep.latency_us, 0);
  // Least squares through the origin: (4 * 10 + 8 * 40) / (16 + 64) us for 10^6 bytes.
  EXPECT_NEAR(steep.bandwidth_gb_s, 1e12 / 4.5 / fitted_gib, 1e-6);
}

TEST(FitLinks, RefuseTooFewCollectives) {
  simmesh::testing::expect_error(
      [] {
        fit_of({{4, 1}, {8, 2}});
      },
      ErrorKind::value_error, "expected at least 3 recorded collectives of several ranks, got 2");
}

// The figures of the real job. Would fail if a collective were joined with another one's time.
TEST(FitLinks, DlrmsLinks) {
  ReplayProgram program = samples::recorded_program("dlrm_pytorch_et.tar.gz");
  FittedLinks links = fit_links(program, meetings_of(program), simmesh::testing::dlrm_timeline());
  EXPECT_EQ(to_string(links),
            "all_to_allv of 8 ranks, 21504 bytes moved: recorded 10.0 us, fitted 12.7 us, error "
            "+2.7 us\n"
            "all_to_all of 8 ranks, 168 bytes moved: recorded 8.0 us, predicted 12.1 us, error "
            "+4.1 us\n"
            "all_to_allv of 8 ranks, 1344 bytes moved: recorded 7.0 us, fitted 12.2 us, error "
            "+5.2 us\n"
            "all_to_allv of 8 ranks, 46592 bytes moved: recorded 7.0 us, predicted 13.4 us, error "
            "+6.4 us\n"
            "allreduce of 8 ranks, 2759687 bytes moved: recorded 86.0 us, fitted 86.0 us, error "
            "-0.0 us\n"
            "all_to_allv of 8 ranks, 21504 bytes moved: recorded 10.0 us, predicted 12.7 us, error "
            "+2.7 us\n"
            "allreduce of 8 ranks, 784 bytes moved: recorded 20.0 us, fitted 12.2 us, error -7.8 "
            "us\n"
            "allreduce of 8 ranks, 1588720 bytes moved: recorded 69.0 us, predicted 54.6 us, error "
            "-14.4 us\n"
            "latency 12.13 us, bandwidth 34.80 GB/s; mean error 3.9 us of the fitted half, 6.9 us "
            "of the predicted half\n");
}

}  // namespace

}  // namespace simmesh::replay
