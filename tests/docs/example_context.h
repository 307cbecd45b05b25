#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Declares the names that examples use without declaring them. Who includes this file has included
// the public headers before, in the tree or as programs do.
namespace simmesh::examples {

using nn::Tensors;

extern DeviceMesh mesh;
extern ProcessGroup group, dp;
extern World world;
extern Outcome outcome;
extern std::function<void(Rank&)> body, train;

extern Tensor x, y, full, gradient, shard, staged, step, weight, w_rows, x_columns, tensor, bias,
    first, second;
extern std::vector<Tensor> tensors;
extern Generator generator;
extern const Op op;
extern Attributes attributes;
extern Dims dims, sizes;
extern Placements placements;
extern std::int64_t n, i, rows, columns, product, extent;

extern nn::Sequential model, blocks;
extern optim::AdamW optimizer;
extern checkpoint::StateDict state;
Tensor loss(const Tensor& output);

extern zero::Config config;
extern zero::MakeOptimizer make_optimizer;
extern nn::ModelNode node;

Schema plan_schema();
void verify_plan(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report);

extern RecordedCase recorded;
extern CaseReport report;
extern std::string line;
extern std::vector<std::string> paths;

}  // namespace simmesh::examples
