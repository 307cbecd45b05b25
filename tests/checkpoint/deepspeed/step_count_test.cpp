#include "checkpoint/deepspeed/step_count.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "checkpoint/torch_file/torch_archive.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;

std::int64_t step_of(const std::vector<std::byte>& archive) {
  MemoryStore store;
  testing::add_file(store, "step.pt", testing::text_of(archive));
  TorchFile file(store, "step.pt");
  return step_count(file, file.root());
}

std::int64_t step_of(float number) {
  return step_of(
      torch_tensor_archive(StoredDType::f32, Shape{}, gsl::as_bytes(gsl::span(&number, 1))));
}

TEST(StepCount, IsANumberOrATensor) {
  EXPECT_EQ(step_of(torch_object_archive(JsonValue(std::int64_t{7}))), 7);
  for (float steps : {0.0f, 3.0f, 16'777'215.0f}) EXPECT_EQ(step_of(steps), std::int64_t(steps));
}

TEST(StepCount, RefusesWhatIsNoCount) {
  for (float steps : {-1.0f, 0.5f, 16'777'216.0f, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_THAT(error_text([&] { step_of(steps); }), HasSubstr("a step of "));
  std::vector<std::byte> two(8);
  EXPECT_THAT(error_text([&] { step_of(torch_tensor_archive(StoredDType::f32, Shape{2}, two)); }),
              HasSubstr("a step of float32[2], expected one float32"));
  EXPECT_THAT(error_text([&] { step_of(torch_object_archive(JsonValue(std::string("x")))); }),
              HasSubstr("step"));
}

}  // namespace
}  // namespace simmesh::checkpoint
