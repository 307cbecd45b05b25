#include "checkpoint/dcp/torch_archive.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "checkpoint/box.h"
#include "checkpoint/dcp/pickle.h"
#include "checkpoint/dcp/pickle_json.h"
#include "checkpoint/dcp/pickle_writer.h"
#include "checkpoint/dcp/torch_types.h"
#include "checkpoint/dcp/zip_archive.h"
#include "core/check/bits_hash.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::size_t member_alignment = 64;
constexpr std::size_t serialization_id_digits = 40;

template <class... Args>
[[noreturn]] void refuse_archive(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::value_error, "checkpoint/torch_archive",
              fmt::format(format, std::forward<Args>(args)...));
}

// Members by the part of their name behind the first '/': the part before it is any word.
class Members {
 public:
  explicit Members(Bytes archive) : members_(read_zip(archive)) {
    if (const ZipMember* order = find("byteorder"))
      if (text_of(*order) != "little") refuse_archive("expected the byte order little");
  }

  const ZipMember& get(std::string_view name) const {
    const ZipMember* member = find(name);
    if (member == nullptr) refuse_archive("an archive without the member {}", name);
    return *member;
  }

 private:
  const ZipMember* find(std::string_view name) const {
    for (const ZipMember& member : members_)
      if (std::string_view(member.name).substr(member.name.find('/') + 1) == name) return &member;
    return nullptr;
  }
  static std::string_view text_of(const ZipMember& member) {
    return {reinterpret_cast<const char*>(member.bytes.data()), member.bytes.size()};
  }

  std::vector<ZipMember> members_;
};

const PickleDialect& tensor_dialect() {
  static const PickleDialect dialect = {
      "\x80N\x88\x89KMJ\x8aXt)\x85\x86\x87(qrhjcRQ.",
      {"torch._utils._rebuild_tensor_v2", "collections.OrderedDict", "torch.FloatStorage",
       "torch.DoubleStorage", "torch.HalfStorage", "torch.BFloat16Storage", "torch.LongStorage",
       "torch.IntStorage", "torch.ShortStorage", "torch.CharStorage", "torch.ByteStorage",
       "torch.BoolStorage", "torch.ComplexFloatStorage"}};
  return dialect;
}

const PickleDialect& object_dialect() {
  static const PickleDialect dialect = {"\x80N\x88\x89KMJ\x8aGXt)\x85\x86\x87(}]ausqerhj.", {}};
  return dialect;
}

// What a tensor is of: a storage of a type, with so many elements.
struct StorageName {
  StoredDType dtype;
  std::string key;
  std::int64_t count;
};

StorageName storage_name(PickleValue persistent) {
  if (persistent->kind != PickleNode::Kind::persistent)
    refuse_archive("a tensor without a storage");
  const std::vector<PickleValue>& id = as_items(persistent->items[0], "a storage");
  if (id.size() != 5 || as_text(id[0], "a storage") != "storage" ||
      id[1]->kind != PickleNode::Kind::global)
    refuse_archive("a storage that isn't named as torch.save names one");
  auto dtype = find_torch_storage(id[1]->text.substr(std::strlen("torch.")));
  if (!dtype) refuse_archive("a storage of the class {}", id[1]->text);
  return {*dtype, as_text(id[2], "a storage's key"), as_integer(id[4], "a storage's size")};
}

// Raises unless all elements lie within the storage.
void check_view(DimSpan shape, DimSpan strides, std::int64_t offset, std::int64_t count) {
  if (shape.size() != strides.size() || shape.size() > std::size_t(dims_max))
    refuse_archive("{} sizes and {} strides", shape.size(), strides.size());
  if (element_count(shape) == 0) return;
  std::int64_t last = offset;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::int64_t reach;
    if (strides[dim] < 0 || __builtin_mul_overflow(shape[dim] - 1, strides[dim], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      refuse_archive("the strides {} lead out of the storage", to_string(strides));
  }
  if (offset < 0 || last >= count)
    refuse_archive("a tensor of shape {} ends at element {} of a storage of {}", to_string(shape),
                   last, count);
}

}  // namespace

ArchivedTensor read_torch_tensor(Bytes archive) {
  Members members(archive);
  Pickle pickle(members.get("data.pkl").bytes, tensor_dialect());
  const std::vector<PickleValue>& call =
      as_object(pickle.root(), "torch._utils._rebuild_tensor_v2");
  const std::vector<PickleValue>& arguments = as_items(call[1], "a tensor");
  if (arguments.size() < 4) refuse_archive("a tensor of {} arguments", arguments.size());
  StorageName storage = storage_name(arguments[0]);
  std::int64_t offset = as_integer(arguments[1], "a storage offset");
  std::vector<std::int64_t> shape = as_integers(arguments[2], "a shape");
  std::vector<std::int64_t> strides = as_integers(arguments[3], "strides");
  const std::vector<std::byte>& data = members.get("data/" + storage.key).bytes;
  auto width = std::size_t(bits_per_element(storage.dtype) / 8);
  if (data.size() % width != 0 || std::int64_t(data.size() / width) != storage.count)
    refuse_archive("a storage of {} bytes, expected {} elements of {} bytes", data.size(),
                   storage.count, width);
  check_view(shape, strides, offset, storage.count);

  ArchivedTensor tensor = {storage.dtype, Shape(shape.begin(), shape.end()), {}};
  std::int64_t elements = element_count(tensor.shape);
  // A stride of zero could stand for any number of elements.
  if (elements > storage.count) refuse_archive("a tensor of more elements than its storage");
  tensor.bytes.resize(std::size_t(elements) * width);
  if (elements > 0)
    copy_box({.sizes = tensor.shape,
              .element_bytes = width,
              .from_strides = Strides(strides.begin(), strides.end()),
              .to_strides = contiguous_strides(tensor.shape)},
             data.data() + std::size_t(offset) * width, tensor.bytes.data());
  return tensor;
}

JsonValue read_torch_object(Bytes archive) {
  Members members(archive);
  Pickle pickle(members.get("data.pkl").bytes, object_dialect());
  return json_of(pickle.root());
}

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  auto bytes = gsl::as_bytes(gsl::span<const char>(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> archive_of(std::vector<std::byte> pickle, const Bytes* data) {
  std::uint64_t mark = bits_hash(pickle) ^ (data == nullptr ? 0 : bits_hash(*data));
  std::string id = fmt::format("{:0{}}", mark, serialization_id_digits);
  std::vector<ZipMember> members;
  members.push_back({"archive/data.pkl", std::move(pickle)});
  members.push_back({"archive/.format_version", bytes_of("1")});
  members.push_back({"archive/.storage_alignment", bytes_of("64")});
  members.push_back({"archive/byteorder", bytes_of("little")});
  if (data != nullptr) members.push_back({"archive/data/0", {data->begin(), data->end()}});
  members.push_back({"archive/version", bytes_of("3\n")});
  members.push_back({"archive/.data/serialization_id", bytes_of(id)});
  return zip_of(members, member_alignment);
}

}  // namespace

std::vector<std::byte> torch_tensor_archive(StoredDType dtype, DimSpan shape, Bytes bytes) {
  std::string_view storage = torch_storage_name(dtype);
  if (storage.empty())
    refuse_archive("PyTorch has no storage class for elements of {}", to_string(dtype));
  PickleWriter pickle(PickleWriter::Protocol::two);
  pickle.global("torch._utils", "_rebuild_tensor_v2");
  pickle.begin_tuple();
  pickle.begin_tuple();
  pickle.text("storage");
  pickle.global("torch", storage);
  pickle.text("0");
  pickle.text("cpu");
  pickle.integer(element_count(shape));
  pickle.end_tuple();
  pickle.persistent();
  pickle.integer(0);
  pickle.integers(shape);
  pickle.integers(contiguous_strides(shape));
  pickle.flag(false);
  pickle.global("collections", "OrderedDict");
  pickle.integers({});
  pickle.reduce();
  pickle.end_tuple();
  pickle.reduce();
  return archive_of(pickle.finish(), &bytes);
}

std::vector<std::byte> torch_object_archive(const JsonValue& value) {
  PickleWriter pickle(PickleWriter::Protocol::two);
  pickle.json(value);
  return archive_of(pickle.finish(), nullptr);
}

}  // namespace simmesh::checkpoint
