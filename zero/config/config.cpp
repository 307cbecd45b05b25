#include "zero/config/config.h"

#include <algorithm>
#include <cmath>

#include "core/check/error.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view batch_source = "zero/config";

constexpr std::int64_t largest_batch = std::int64_t(1) << 31;

// DeepSpeed rounds down where the numbers don't divide; its check of their product then fails.
BatchSizes completed_sizes(const Config& config, std::int64_t ranks) {
  std::optional<std::int64_t> train = config.train_batch_size;
  std::optional<std::int64_t> micro = config.train_micro_batch_size_per_gpu;
  std::optional<std::int64_t> steps = config.gradient_accumulation_steps;
  auto quotient = [](std::int64_t a, std::int64_t b) { return b == 0 ? 0 : a / b; };
  if (!train && !micro)
    raise(ErrorKind::assertion_error, batch_source,
          "expected train_batch_size or train_micro_batch_size_per_gpu, got neither");
  if (train && micro)
    return {*train, *micro, steps.value_or(quotient(quotient(*train, *micro), ranks))};
  if (train) {
    std::int64_t count = steps.value_or(1);
    return {*train, quotient(quotient(*train, ranks), count), count};
  }
  std::int64_t per_rank = *micro * steps.value_or(1);  // below 2^62
  return {per_rank > largest_batch / ranks ? largest_batch : per_rank * ranks, *micro,
          steps.value_or(1)};
}

}  // namespace

BatchSizes Config::batch_sizes(std::int64_t ranks) const {
  for (const auto& given :
       {train_batch_size, train_micro_batch_size_per_gpu, gradient_accumulation_steps})
    if (given > largest_batch)
      raise(ErrorKind::value_error, batch_source, "expected batch sizes of at most {}, got {}",
            largest_batch, *given);
  BatchSizes sizes = completed_sizes(*this, ranks);
  for (auto [name, size] :
       {std::pair("train_batch_size", sizes.train_batch_size),
        std::pair("train_micro_batch_size_per_gpu", sizes.train_micro_batch_size_per_gpu),
        std::pair("gradient_accumulation_steps", sizes.gradient_accumulation_steps)})
    if (size <= 0)
      raise(ErrorKind::assertion_error, batch_source,
            "{}: expected a number greater than 0, got {}", name, size);
  // Doubles represent exactly all numbers that a train_batch_size may be.
  double product = double(sizes.train_micro_batch_size_per_gpu) *
                   double(sizes.gradient_accumulation_steps) * double(ranks);
  if (double(sizes.train_batch_size) != product)
    raise(ErrorKind::assertion_error, batch_source,
          "expected a train_batch_size of train_micro_batch_size_per_gpu * "
          "gradient_accumulation_steps * ranks = {} * {} * {}, got {}",
          sizes.train_micro_batch_size_per_gpu, sizes.gradient_accumulation_steps, ranks,
          sizes.train_batch_size);
  return sizes;
}

std::int64_t Aio::file_bytes_min() const {
  return std::max<std::int64_t>(std::int64_t(1) << 20, block_size);
}

const std::vector<std::string>& LeafModule::default_classes() {
  static const std::vector<std::string> classes = {
      "transformers.models.mixtral.modeling_mixtral.MixtralSparseMoeBlock",
      "transformers.models.qwen2_moe.modeling_qwen2_moe.Qwen2MoeSparseMoeBlock",
      "transformers.models.qwen3_moe.modeling_qwen3_moe.Qwen3MoeSparseMoeBlock",
  };
  return classes;
}

std::optional<DType> TorchAutocast::forward_dtype() const {
  if (!enabled || dtype == DType::float32) return {};
  return dtype.value_or(DType::bfloat16);
}

std::optional<optim::LossScaler::Options> Config::loss_scaler() const {
  if (fp16.enabled) return fp16.scaler();
  if (torch_autocast.forward_dtype() == DType::float16) return optim::LossScaler::Options();
  return {};
}

optim::LossScaler::Options Fp16::scaler() const {
  return {.scale = loss_scale > 0 ? loss_scale : std::ldexp(1.0, int(initial_scale_power)),
          .growth_interval = loss_scale_window,
          .growth_delay = 1,
          .hysteresis = hysteresis,
          .consecutive_hysteresis = consecutive_hysteresis,
          .scale_min = double(min_loss_scale),
          .raises_at_min = true,
          .is_dynamic = !(loss_scale > 0)};
}

}  // namespace simmesh::zero
