#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

TEST(VerifyPaddleEma, NamesWhatDiffers) {
  json value = testing::first_with("../paddle/ema.jsonl",
                                   [](const json& each) { return each["id"] == "ema/1p/0"; });
  testing::expect_passes(value);
  auto fails = [&](const char* path, const json& wrong, const std::string& phrase) {
    testing::expect_fails(value, path, wrong, phrase);
  };
  constexpr const char* no_hash = "0000000000000000";
  fails("/chunks", 77, "chunks: expected 77");
  fails("/total_numel", 77, "total_numel: expected 77");
  fails("/chunk_numel", 77, "chunk_numel: expected 77");
  fails("/steps/0/hooks/0/copies/0/2", 62, "step 1: hook 0: copies other elements");
  fails("/steps/0/hooks/0/copies", json::array(), "step 1: hook 0: copies other elements");
  fails("/steps/0/hooks/0/dumped", true, "step 1: hook 0: dumped: expected");
  fails("/steps/0/hooks/1/done", false, "step 1: hook 1: done: expected");
  fails("/steps/0/hooks/1/status", 1, "step 1: hook 1: status: expected 1");
  fails("/steps/0/host_optimizer/hash", no_hash, "step 1: host_optimizer: hash: expected");
  fails("/steps/0/host_buffers/0/hash", no_hash, "step 1: host buffer 0: hash: expected");
  fails("/steps/0/host_buffers", json::array(), "step 1: host_buffers: expected");
  fails("/steps/0/ema/hash", no_hash, "step 1: ema: hash: expected");
  fails("/steps/0/ema/shape/0", 77, "step 1: ema: shape: expected");
  fails("/steps/0/ema_float32_buffers/0/hash", no_hash, "step 1: ema of buffer 0: hash: expected");
  fails("/coefficient", 0.5, "step 1: ema: hash: expected");
  testing::expect_bad(value, "/optimizer/dtype", "float64", "float32, the dtype of the averages");
  testing::expect_bad(value, "/params/0/buffer", 9, "a part of a buffer");
  testing::expect_bad(value, "/master/0/1", 999, "a part of the optimiser's buffer");
}

}  // namespace
}  // namespace simmesh
