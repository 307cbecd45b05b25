#include "verify/pytorch/ops/python_call.h"

#include <gmock/gmock.h>

#include "verify/pytorch/ops/python_value.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

PythonValue python_list(std::vector<PythonValue> values) { return values; }
PythonValue python_number(int value) { return std::int64_t(value); }

// The reason why arguments don't fit; empty where they do.
std::string reason(const char* signature, const PythonArguments& arguments) {
  std::string why;
  PythonSignature(signature).bind(arguments, why);
  return why;
}

TEST(PythonSignature, BindsByPlaceByNameAndByDefault) {
  PythonSignature signature("Tensor self, int[]? dim=None, bool keepdim=False, *, float eps=1e-05");
  std::string why;
  Tensor x = zeros({2}, DType::float32);
  PythonArguments arguments{.positional = {x, python_list({python_number(0), python_number(-1)})},
                            .keywords = {{"keepdim", true}}};
  PythonCall call(signature, signature.bind(arguments, why));
  EXPECT_THAT(why, IsEmpty());
  EXPECT_EQ(call.tensor("self").shape(), x.shape());
  EXPECT_EQ(call.dims("dim"), (Dims{0, -1}));
  EXPECT_TRUE(call.flag("keepdim"));
  EXPECT_EQ(call.real("eps"), 1e-5);
}

TEST(PythonSignature, SelfIsAlsoInput) {
  Tensor x = zeros({2}, DType::float32);
  EXPECT_THAT(reason("Tensor self", {.positional = {}, .keywords = {{"input", x}}}), IsEmpty());
}

TEST(PythonSignature, SizesMayBeGivenOneByOne) {
  PythonSignature signature("Tensor self, int[] size");
  std::string why;
  Tensor x = zeros({6}, DType::float32);
  PythonArguments arguments{.positional = {x, python_number(2), python_number(3)}, .keywords = {}};
  EXPECT_EQ(PythonCall(signature, signature.bind(arguments, why)).dims("size"), (Dims{2, 3}));
  arguments.positional = {x, python_number(6)};
  EXPECT_EQ(PythonCall(signature, signature.bind(arguments, why)).dims("size"), (Dims{6}));
}

TEST(PythonSignature, SaysWhichArgumentDoesNotFit) {
  Tensor x = zeros({2}, DType::float32);
  EXPECT_THAT(reason("Tensor self", {}), HasSubstr("missing argument 'self'"));
  EXPECT_THAT(reason("Tensor self", {.positional = {x, x}, .keywords = {}}),
              HasSubstr("at most 1 positional"));
  EXPECT_THAT(reason("Tensor self, int dim", {.positional = {x, 1.5}, .keywords = {}}),
              HasSubstr("argument 'dim' (position 2) must be int, not float"));
  EXPECT_THAT(reason("Tensor self", {.positional = {x}, .keywords = {{"other", x}}}),
              HasSubstr("no known argument 'other'"));
  EXPECT_THAT(reason("Tensor self", {.positional = {x}, .keywords = {{"self", x}}}),
              HasSubstr("twice"));
  EXPECT_THAT(reason("Tensor self, *, Scalar alpha=1",
                     {.positional = {x, python_number(2)}, .keywords = {}}),
              HasSubstr("positional"));
  EXPECT_THAT(reason("Tensor[] tensors",
                     {.positional = {python_list({x, python_number(1)})}, .keywords = {}}),
              HasSubstr("tensors"));
}

TEST(PythonSignature, TypesTakeTheirValues) {
  Tensor x = zeros({2}, DType::float32);
  auto fits = [&](const char* type, PythonValue value) {
    return reason((std::string(type) + " a").c_str(),
                  {.positional = {std::move(value)}, .keywords = {}})
        .empty();
  };
  EXPECT_TRUE(fits("Tensor|Scalar", 2.5));
  EXPECT_TRUE(fits("Scalar", std::string("-inf")));
  EXPECT_TRUE(fits("Tensor?", {}));
  EXPECT_TRUE(fits("Tensor?[]", python_list({x, {}})));
  EXPECT_TRUE(fits("dtype", DType::float64));
  EXPECT_FALSE(fits("Tensor", {}));
  EXPECT_FALSE(fits("bool", python_number(1)));
  EXPECT_FALSE(fits("int", true));
  EXPECT_FALSE(fits("float", std::string("much")));
  EXPECT_FALSE(fits("str", python_number(1)));
}

TEST(PythonSignature, BoundsWhatSizesMultiply) {
  PythonSignature signature("Tensor self, int[] size, Scalar value=0");
  std::string why;
  Tensor x = zeros({2}, DType::float32);
  auto values = signature.bind(
      {.positional = {x, python_list({python_number(1000), python_number(-3)}), 1e30},
       .keywords = {}},
      why);
  EXPECT_EQ(signature.largest_factor(values), 3000);
}

}  // namespace
}  // namespace simmesh
