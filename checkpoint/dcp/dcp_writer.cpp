#include "checkpoint/dcp/dcp_writer.h"

#include "checkpoint/torch_file/torch_archive.h"

namespace simmesh::checkpoint {

namespace {

constexpr const char* data_file = "__0_0.distcp";

}  // namespace

DcpWriter::DcpWriter(Store& store, std::string folder)
    : store_(store), folder_(std::move(folder)), file_(store.create(joined(folder_, data_file))) {
  metadata_.version = "1.0.0";
}

void DcpWriter::append(const std::vector<std::byte>& archive) {
  file_->append(archive);
  at_ += std::int64_t(archive.size());
}

void DcpWriter::add(const StoredObject& object) {
  std::int64_t begin = at_;
  append(torch_object_archive(object.value));
  metadata_.objects.push_back({object.name, data_file, begin, at_ - begin});
  std::vector<JsonValue> path = object.path;
  if (path.empty()) path.push_back(JsonValue(object.name));
  metadata_.paths.emplace_back(object.name, std::move(path));
}

void DcpWriter::add(const StoredTensor& tensor, const std::vector<Box>& boxes,
                    const BytesOf& bytes_of) {
  StoredTensor stored = {tensor.name, tensor.dtype, tensor.shape, {}};
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    std::int64_t begin = at_;
    append(torch_tensor_archive(tensor.dtype, boxes[i].sizes, bytes_of(i)));
    stored.chunks.push_back(
        {.box = boxes[i], .file = data_file, .begin = begin, .bytes = at_ - begin});
  }
  metadata_.paths.emplace_back(tensor.name, std::vector<JsonValue>{JsonValue(tensor.name)});
  metadata_.tensors.push_back(std::move(stored));
}

void DcpWriter::finish() {
  file_->sync();
  auto file = store_.create(joined(folder_, dcp_metadata_file));
  file->append(dcp_metadata_pickle(metadata_));
  file->sync();
  store_.sync_folder(folder_);
}

}  // namespace simmesh::checkpoint
