#include "pipeline/stage/event.h"

#include <gtest/gtest.h>

namespace simmesh::pipeline {
namespace {

// If this fails, events get the names of others.
TEST(PipelineEvent, HasTheNamesOfRecordedCases) {
  EXPECT_EQ(to_string(EventKind::preconnect), "preconnect");
  EXPECT_EQ(to_string(EventKind::backward_weight), "backward_weight");
  EXPECT_EQ(to_string(EventKind::wait_reduction), "wait_reduction");
  std::vector<std::int64_t> numbers;
  ObserverScope observer([&](const Event& event) { numbers.push_back(event.number); });
  emit({.kind = EventKind::loss, .number = 3});
  EXPECT_EQ(numbers, std::vector<std::int64_t>{3});
}

}  // namespace
}  // namespace simmesh::pipeline
