#include "checkpoint/torch_file/torch_view.h"

#include <gmock/gmock.h>

#include "checkpoint/torch_file/pickle_writer.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;

// The arguments with which a tensor of shape [2, 3] is pickled.
struct PickledView {
  const char* function = "_rebuild_tensor_v2";
  const char* storage = "ShortStorage";
  const char* dtype = nullptr;
  std::int64_t count = 8;
  Dims strides = {3, 1};
  bool is_parameter = false, has_attributes = false;

  std::vector<std::byte> bytes() const {
    PickleWriter out(PickleWriter::Protocol::two);
    if (is_parameter) {
      out.global("torch._utils", "_rebuild_parameter");
      out.begin_tuple();
    }
    if (has_attributes) {
      out.global("torch._tensor", "_rebuild_from_type_v2");
      out.begin_tuple();
    }
    out.global("torch._utils", function);
    if (has_attributes) out.global("torch", "Tensor");
    out.begin_tuple();
    out.begin_tuple();
    out.text("storage");
    out.global(storage[0] == 'U' ? "torch.storage" : "torch", storage);
    out.text("k");
    out.text("cpu");
    out.integer(count);
    out.end_tuple();
    out.persistent();
    out.integer(2);
    out.integers(Dims{2, 3});
    out.integers(strides);
    out.flag(false);
    out.none();
    if (dtype != nullptr) out.global("torch", dtype);
    out.end_tuple();
    if (has_attributes) {
      out.none();
      out.end_tuple();
    }
    out.reduce();
    if (is_parameter) {
      out.flag(true);
      out.none();
      out.end_tuple();
      out.reduce();
    }
    return out.finish();
  }
  TorchView read() const {
    std::vector<std::byte> pickled = bytes();
    Pickle pickle(pickled);
    EXPECT_TRUE(is_torch_view(pickle.root()));
    return read_torch_view(pickle.root());
  }
};

TEST(TorchView, IsOfAStorage) {
  TorchView view = PickledView().read();
  EXPECT_EQ(view.dtype, StoredDType::i16);
  EXPECT_EQ(view.storage, "k");
  EXPECT_EQ(view.count, 8);
  EXPECT_EQ(view.offset, 2);
  EXPECT_EQ(view.shape, (Shape{2, 3}));
  EXPECT_TRUE(view.is_contiguous());
  check_torch_storage(view, 16);
  EXPECT_THAT(error_text([&] { check_torch_storage(view, 18); }),
              HasSubstr("a storage of 18 bytes, expected 8 elements of 2 bytes"));
  EXPECT_EQ(PickledView{.is_parameter = true}.read().shape, (Shape{2, 3}));
  EXPECT_EQ(PickledView{.has_attributes = true}.read().shape, (Shape{2, 3}));
  EXPECT_FALSE((PickledView{.strides = {1, 2}}.read().is_contiguous()));
}

// An untyped storage counts bytes, and the dtype comes last.
TEST(TorchView, OfNewerDTypesIsOfBytes) {
  PickledView pickled = {
      .function = "_rebuild_tensor_v3", .storage = "UntypedStorage", .dtype = "uint16"};
  pickled.count = 16;
  EXPECT_EQ(pickled.read().dtype, StoredDType::u16);
  EXPECT_EQ(pickled.read().count, 8);
  pickled.count = 14;
  EXPECT_THAT(error_text([&] { pickled.read(); }), HasSubstr("of a storage of 7"));
  pickled.dtype = nullptr;
  EXPECT_THAT(error_text([&] { pickled.read(); }), HasSubstr("a tensor of 6 arguments"));
  pickled.dtype = "FloatStorage";
  EXPECT_THAT(error_text([&] { pickled.read(); }), HasSubstr("whose dtype isn't known"));
  pickled.storage = "ByteStorage";
  EXPECT_THAT(error_text([&] { pickled.read(); }), HasSubstr("of the class torch.ByteStorage"));
}

TEST(TorchView, OfASizeIsItsSizes) {
  auto size_of = [](Dims sizes) {
    PickleWriter out(PickleWriter::Protocol::two);
    out.global("torch", "Size");
    out.begin_tuple();
    out.integers(sizes);
    out.end_tuple();
    out.reduce();
    std::vector<std::byte> bytes = out.finish();
    Pickle pickle(bytes);
    EXPECT_FALSE(is_torch_view(pickle.root()));
    return torch_size(pickle.root(), "a size");
  };
  EXPECT_EQ(size_of({4, 0}), (Dims{4, 0}));
  EXPECT_THAT(error_text([&] { size_of({-1}); }), HasSubstr("a size is negative"));
  EXPECT_THAT(error_text([&] { size_of(Dims(33, 1)); }), HasSubstr("a size has 33 dims"));
}

}  // namespace
}  // namespace simmesh::checkpoint
