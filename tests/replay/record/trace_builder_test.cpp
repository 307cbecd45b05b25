#include "replay/record/trace_builder.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(TraceBuilder, MakesNodesBelowTheOpenOneOfTheirThread) {
  TraceBuilder builder("cpu");
  builder.open("outer", TraceThread::main);
  builder.add("inner", TraceThread::main);
  builder.add("backward", TraceThread::backward);
  builder.close(TraceThread::main);
  builder.add("after", TraceThread::main);
  const ExecutionTrace& trace = builder.trace();
  std::vector<std::int64_t> parents, threads;
  for (const TraceNode& node : trace.nodes) {
    parents.push_back(node.parent);
    threads.push_back(node.thread);
    EXPECT_EQ(node.id, std::int64_t(parents.size()));
  }
  EXPECT_EQ(parents, (std::vector<std::int64_t>{1, 1, 2, 3, 1, 5, 2}));
  EXPECT_EQ(threads, (std::vector<std::int64_t>{0, 1, 1, 1, 2, 2, 1}));
}

// An id stands for one storage for good, even if memory is reused.
TEST(TraceBuilder, TellsStoragesApartAndViewsOfOneStorage) {
  TraceBuilder builder("cuda:1");
  Tensor x = zeros({2, 3}, DType::float32);
  std::vector<Tensor> tensors = {x, x.transpose(0, 1), x, Tensor(), x.narrow({0, 1, 1})};
  TraceRange range = builder.tensors(tensors);
  ASSERT_EQ(range.size(), 4);
  gsl::span<const TraceTensor> seen = builder.trace().tensors_in(range);
  for (const TraceTensor& tensor : seen) EXPECT_EQ(tensor.storage, seen[0].storage);
  EXPECT_EQ(seen[0].tensor, seen[2].tensor);
  EXPECT_NE(seen[0].tensor, seen[1].tensor);
  EXPECT_EQ(seen[3].offset, 3);
  EXPECT_EQ(seen[3].elements, 3);
  EXPECT_EQ(builder.trace().text(seen[0].device), "cuda:1");
  std::int64_t first = 0;
  for (int i = 0; i < 3; ++i) {
    Tensor made = zeros({2, 3}, DType::float32);
    std::int64_t storage = builder.trace().tensors_in(builder.tensors({&made, 1}))[0].storage;
    EXPECT_NE(storage, first);
    first = storage;
  }
}

TEST(TraceBuilder, BindsWhatWasPromised) {
  TraceBuilder builder("cpu");
  TraceRange promised = builder.promised(DType::float32, Shape{4});
  TraceTensor expected = builder.trace().tensors_in(promised)[0];
  Tensor made = zeros({4}, DType::float32);
  builder.bind(promised, {&made, 1});
  TraceTensor known = builder.trace().tensors_in(builder.tensors({&made, 1}))[0];
  EXPECT_EQ(known.tensor, expected.tensor);
  EXPECT_EQ(known.storage, expected.storage);
  EXPECT_EQ(known.elements, 4);
}

TEST(TraceBuilder, FlattensTensors) {
  TraceBuilder builder("cpu");
  Tensor x = zeros({2, 3}, DType::int64);
  TraceTensor flat = builder.trace().tensors_in(builder.flat({&x, 1}))[0];
  EXPECT_EQ(flat.shape.size(), 1);
  EXPECT_EQ(builder.trace().numbers_in(flat.shape)[0], 6);
  EXPECT_EQ(end_bytes(builder.trace(), flat), 48);
}

}  // namespace
}  // namespace simmesh::replay
