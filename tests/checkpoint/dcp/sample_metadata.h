#pragma once

#include "checkpoint/dcp/dcp_metadata.h"

namespace simmesh::checkpoint::testing {

// sample_metadata has a tensor in two chunks, a scalar, and a value that is no tensor.
inline DcpMetadata sample_metadata() {
  auto chunk = [](Box box, std::int64_t begin) {
    return StoredChunk{.box = std::move(box), .file = "__0_0.distcp", .begin = begin, .bytes = 10};
  };
  DcpMetadata metadata;
  metadata.tensors.push_back({"model.w",
                              StoredDType::bf16,
                              {4, 2},
                              {chunk({{0, 0}, {3, 2}}, 0), chunk({{3, 0}, {1, 2}}, 10)}});
  metadata.tensors.push_back({"scalar", StoredDType::f64, {}, {chunk({{}, {}}, 20)}});
  std::vector<JsonValue> path = {JsonValue("optim"), JsonValue(std::int64_t{0})};
  metadata.objects.push_back({"optim.0", "__1_0.distcp", 5, 7, path});
  metadata.paths = {{"model.w", {JsonValue("model"), JsonValue("w")}}, {"optim.0", path}};
  metadata.version = "1.0.0";
  return metadata;
}

}  // namespace simmesh::checkpoint::testing
