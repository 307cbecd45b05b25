#pragma once

#include <vector>

#include "zero/config/config.h"
#include "zero/config/config_section.h"

namespace simmesh::zero {

// The keys of each section of a configuration.
template <>
const std::vector<ConfigKey<ZeroOptimization>>& config_keys();
template <>
const std::vector<ConfigKey<OffloadParam>>& config_keys();
template <>
const std::vector<ConfigKey<OffloadOptimizer>>& config_keys();
template <>
const std::vector<ConfigKey<LeafModule>>& config_keys();
template <>
const std::vector<ConfigKey<Fp16>>& config_keys();
template <>
const std::vector<ConfigKey<Bf16>>& config_keys();
template <>
const std::vector<ConfigKey<DataTypes>>& config_keys();
template <>
const std::vector<ConfigKey<OptimizerConfig>>& config_keys();
template <>
const std::vector<ConfigKey<Aio>>& config_keys();
// The params of a scheduler.
template <>
const std::vector<ConfigKey<WarmupLR>>& config_keys();
template <>
const std::vector<ConfigKey<WarmupDecayLR>>& config_keys();
template <>
const std::vector<ConfigKey<WarmupCosineLR>>& config_keys();
template <>
const std::vector<ConfigKey<OneCycle>>& config_keys();
template <>
const std::vector<ConfigKey<LRRangeTest>>& config_keys();
template <>
const std::vector<ConfigKey<StepLR>>& config_keys();
template <>
const std::vector<ConfigKey<MultiStepLR>>& config_keys();
template <>
const std::vector<ConfigKey<ConstantLR>>& config_keys();
template <>
const std::vector<ConfigKey<LinearLR>>& config_keys();
template <>
const std::vector<ConfigKey<ExponentialLR>>& config_keys();
template <>
const std::vector<ConfigKey<PolynomialLR>>& config_keys();
template <>
const std::vector<ConfigKey<CosineAnnealingLR>>& config_keys();
template <>
const std::vector<ConfigKey<CosineAnnealingWarmRestarts>>& config_keys();
template <>
const std::vector<ConfigKey<CyclicLR>>& config_keys();
template <>
const std::vector<ConfigKey<OneCycleLR>>& config_keys();
// check_scheduler_values raises a ValueError for params of PyTorch's classes out of their range.
void check_scheduler_values(const SchedulerConfig& scheduler);
// The keys outside of all sections.
template <>
const std::vector<ConfigKey<Config>>& config_keys();

}  // namespace simmesh::zero
