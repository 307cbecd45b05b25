#include "checkpoint/torch_file/torch_archive.h"

#include <gmock/gmock.h>

#include "checkpoint/catalog/stored_dtype.h"
#include "checkpoint/torch_file/pickle_writer.h"
#include "checkpoint/torch_file/torch_types.h"
#include "checkpoint/torch_file/zip_archive.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::bytes_of;
using ::testing::HasSubstr;

TEST(TorchArchive, ReadsTheTensorsItWrites) {
  for (const Shape& shape : std::vector<Shape>{{}, {0, 3}, {5}, {2, 3, 2}})
    for (int i = 0; i <= int(StoredDType::f4_x2); ++i) {
      auto dtype = StoredDType(i);
      if (torch_dtype_name(dtype).empty()) continue;
      std::vector<std::byte> bytes(std::size_t(simmesh::numel(shape)) *
                                   std::size_t(bits_per_element(dtype) / 8));
      for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = std::byte(7 * at + 1);
      ArchivedTensor read = read_torch_tensor(torch_tensor_archive(dtype, shape, bytes));
      EXPECT_EQ(read.dtype, dtype);
      EXPECT_EQ(read.shape, shape);
      EXPECT_EQ(read.bytes, bytes);
    }
  EXPECT_THAT(error_text([] { torch_tensor_archive(StoredDType::f4, Shape{0}, {}); }),
              HasSubstr("PyTorch has no storage class for elements of F4"));
}

TEST(TorchArchive, ReadsTheValuesItWrites) {
  for (const char* text : {"null", "[1,2.5,\"a\"]", R"({"lr":0.1,"betas":[0.9,0.999]})"})
    EXPECT_EQ(read_torch_object(torch_object_archive(JsonValue::parse(text))).text(), text);
}

// Returns an archive of a tensor as torch.save writes it, with any values.
struct ViewInArchive {
  const char* storage = "FloatStorage";
  const char* key = "0";
  std::int64_t count = 6, offset = 0;
  Dims shape = {2, 3}, strides = {3, 1};
  std::string data = std::string(24, 'x');
  const char* word = "storage";
  const char* byte_order = "little";
  bool has_id = true;
};

std::vector<std::byte> archive_of_view(const ViewInArchive& view) {
  PickleWriter out(PickleWriter::Protocol::two);
  out.global("torch._utils", "_rebuild_tensor_v2");
  out.begin_tuple();
  out.begin_tuple();
  out.text(view.word);
  out.global(view.storage[0] == 'O' ? "collections" : "torch", view.storage);
  out.text(view.key);
  out.text("cpu");
  out.integer(view.count);
  out.end_tuple();
  if (view.has_id) out.persistent();
  out.integer(view.offset);
  out.integers(view.shape);
  out.integers(view.strides);
  out.end_tuple();
  out.reduce();
  return zip_of({{"a/data.pkl", out.finish()},
                 {"a/byteorder", bytes_of(view.byte_order)},
                 {"a/data/0", bytes_of(view.data)}},
                64);
}

std::string view_problem(const ViewInArchive& view) {
  return error_text([&] { read_torch_tensor(archive_of_view(view)); });
}

TEST(TorchArchive, ReadsViewsOfAStorage) {
  std::string letters = "abcdefghijklmnopqrstuvwx";
  auto read = [&](const ViewInArchive& view) {
    return testing::text_of(read_torch_tensor(archive_of_view(view)).bytes);
  };
  ViewInArchive view = {.storage = "ByteStorage", .count = 24, .data = letters};
  view.offset = 2;
  EXPECT_EQ(read(view), "cdefgh");
  view.strides = {1, 4};
  EXPECT_EQ(read(view), "cgkdhl");
  view.strides = {0, 1};
  EXPECT_EQ(read(view), "cdecde");
  view.shape = {2, 0};
  EXPECT_EQ(read(view), "");
}

// A view could lead out of its storage, or claim more elements than there are, in each of these
// ways.
TEST(TorchArchive, RefusesViewsThatLeaveTheirStorage) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  auto leaves = [](const ViewInArchive& view, const char* why) {
    EXPECT_THAT(view_problem(view), HasSubstr(why));
  };
  leaves({.offset = 1}, "ends at element 6 of a storage of 6");
  leaves({.offset = -1}, "a tensor of shape [2, 3] ends at element 4");
  leaves({.strides = {4, 1}}, "ends at element 6");
  leaves({.strides = {-3, 1}}, "the strides [-3, 1] lead out of the storage");
  leaves({.strides = {huge, huge}}, "lead out of the storage");
  leaves({.offset = huge, .strides = {3, 1}}, "lead out of the storage");
  leaves({.shape = {-2, -3}}, "expected sizes of at least 0");
  leaves({.shape = {huge, huge}, .strides = {0, 0}}, "expected fewer than 2^63 elements");
  leaves({.shape = {huge}, .strides = {0}}, "a tensor of more elements than its storage");
  leaves({.shape = {2, 3}, .strides = {1}}, "2 sizes and 1 strides");
  leaves({.shape = Dims(33, 1), .strides = Dims(33, 1)}, "33 sizes and 33 strides");
  leaves({.count = 7}, "a storage of 24 bytes, expected 7 elements of 4 bytes");
  leaves({.count = -1}, "ends at element 5 of a storage of -1");
  leaves({.data = std::string(23, 'x')}, "a storage of 23 bytes");
}

TEST(TorchArchive, RefusesOtherArchives) {
  EXPECT_THAT(view_problem({.storage = "OrderedDict"}),
              HasSubstr("a storage of the class collections.OrderedDict"));
  EXPECT_THAT(view_problem({.storage = "QInt8Storage"}),
              HasSubstr("a storage of the class torch.QInt8Storage"));
  EXPECT_THAT(view_problem({.key = "1"}), HasSubstr("an archive without the member data/1"));
  EXPECT_THAT(view_problem({.word = "stor"}), HasSubstr("isn't named as torch.save names one"));
  EXPECT_THAT(view_problem({.byte_order = "big"}), HasSubstr("expected the byte order little"));
  EXPECT_THAT(view_problem({.has_id = false}), HasSubstr("a tensor without a storage"));
  EXPECT_THAT(error_text([] {
                read_torch_tensor(zip_of({{"a/x", {}}}, 64));
              }),
              HasSubstr("an archive without the member data.pkl"));
  EXPECT_THAT(error_text([] { read_torch_tensor(torch_object_archive(JsonValue("text"))); }),
              HasSubstr("expected an object, got a text"));
  EXPECT_THAT(read_torch_object(archive_of_view({})).text(),
              HasSubstr(R"({"$opaque":"torch._utils._rebuild_tensor_v2"})"));
}

}  // namespace
}  // namespace simmesh::checkpoint
