#include <array>
#include <cstring>
#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/optim/adam.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"

namespace simmesh::optim {
namespace {

constexpr std::int64_t form_elements = 19;  // a vector of sixteen floats, and three more

// AdamRecord are the bits of PyTorch 2.15.0 after three steps with weight decay 0.1.
struct AdamRecord {
  AdamForm form;
  WeightDecay decay;
  bool amsgrad, maximize;
  std::array<std::uint32_t, form_elements> parameter, exp_avg_sq;
};

Tensor form_values(std::int64_t number) {
  Tensor values = empty({form_elements}, DType::float32);
  std::int64_t i = 0;
  for (float& value : values.mutable_values<float>())
    value = float((i++ * 37 + 11 + number * 29) % 101 - 50) / 64.0F;
  return values;
}

std::array<std::uint32_t, form_elements> words_of(const Tensor& tensor) {
  std::array<std::uint32_t, form_elements> words{};
  std::memcpy(words.data(), tensor.values<float>().data(), sizeof(words));
  return words;
}

Tensor stepped(const AdamRecord& record, Adam& adam, Tensor parameter) {
  for (std::int64_t step = 1; step <= 3; ++step) {
    set_grad(parameter, form_values(step));
    adam.step();
  }
  EXPECT_EQ(adam.state(0).count("max_exp_avg_sq") > 0, record.amsgrad);
  return parameter;
}

// If this fails, a run of ours differs from PyTorch's in the last bits although all gradients
// agree: another order of products, or another tail of the fused kernel.
TEST(AdamForms, BitsAreThoseOfPyTorchsKernels) {
  const AdamRecord records[] = {
      {AdamForm::for_loop,
       WeightDecay::decoupled,
       false,
       false,
       {0xbf1bf698U, 0xbd0133b0U, 0x3f0c7ba4U, 0xbee8346aU, 0x3dfe1e65U, 0x3f3450c3U, 0xbe98fc0eU,
        0x3e8f3378U, 0xbf37cb3eU, 0xbe125e46U, 0x3ee12119U, 0xbf0fb94fU, 0x3c784cd7U, 0x3f18706cU,
        0xbed0ce0dU, 0x3e2edb31U, 0x3f4040c5U, 0xbe810d30U, 0x3ea71cd1U},
       {0x3a30ec92U, 0x3a406acaU, 0x39ef8376U, 0x3a2c1b2fU, 0x3a281103U, 0x39d8a51dU, 0x3a2d5472U,
        0x3a3613d1U, 0x3a073ff4U, 0x3a54ea49U, 0x3a1695ffU, 0x3a421324U, 0x3a35157fU, 0x39e098d6U,
        0x3a287201U, 0x3a283de6U, 0x39e0bed4U, 0x3a352d70U, 0x3a41c2ddU}},
      {AdamForm::foreach,
       WeightDecay::added,
       true,
       false,
       {0xbf1bec9bU, 0xbd0132afU, 0x3f0c7a3cU, 0xbee7acfcU, 0x3dfe184aU, 0x3f344762U, 0xbe98fd43U,
        0x3e8f31d9U, 0xbf37bdadU, 0xbe1262a9U, 0x3ee124fcU, 0xbf0fb1b2U, 0x3c7848dcU, 0x3f186d05U,
        0xbed0cc2eU, 0x3e2ed726U, 0x3f403430U, 0xbe810f10U, 0x3ea71c38U},
       {0x3a176e84U, 0x3a41577eU, 0x39ded87fU, 0x3a32ef87U, 0x3a27ced2U, 0x39e77ab4U, 0x3a2a2b27U,
        0x3a3cafafU, 0x39ec4ae9U, 0x3a4fc7bbU, 0x3a0803a0U, 0x3a54ad56U, 0x3a34ceeaU, 0x39d7b0ddU,
        0x3a2b74aaU, 0x3a2932b7U, 0x39fc2a30U, 0x3a30941bU, 0x3a4c0011U}},
      {AdamForm::fused,
       WeightDecay::decoupled,
       false,
       true,
       {0xbf1bf171U, 0xbcfd714aU, 0x3f0b6edaU, 0xbee7a7f1U, 0x3e00dd25U, 0x3f339397U, 0xbe96ec99U,
        0x3e90b669U, 0xbf38187eU, 0xbe0d8b9bU, 0x3edebc7fU, 0xbf103092U, 0x3c83c5eaU, 0x3f17783bU,
        0xbecf1200U, 0x3e3109c6U, 0x3f3fa1bdU, 0xbe7dbe4fU, 0x3ea8c961U},
       {0x3a30ec92U, 0x3a406acaU, 0x39ef8376U, 0x3a2c1b2fU, 0x3a281103U, 0x39d8a51dU, 0x3a2d5472U,
        0x3a3613d1U, 0x3a073ff4U, 0x3a54ea49U, 0x3a1695ffU, 0x3a421324U, 0x3a35157fU, 0x39e098d6U,
        0x3a287201U, 0x3a283de6U, 0x39e0bed4U, 0x3a352d70U, 0x3a41c2deU}},
      {AdamForm::fused,
       WeightDecay::added,
       true,
       false,
       {0xbf1bec9bU, 0xbd0132afU, 0x3f0c7a3cU, 0xbee7acfcU, 0x3dfe184aU, 0x3f344762U, 0xbe98fd43U,
        0x3e8f31d9U, 0xbf37bdadU, 0xbe1262a9U, 0x3ee124fcU, 0xbf0fb1b2U, 0x3c7848dcU, 0x3f186d05U,
        0xbed0cc2eU, 0x3e2ed726U, 0x3f403430U, 0xbe810f10U, 0x3ea71c38U},
       {0x3a176e84U, 0x3a41577eU, 0x39ded87fU, 0x3a32ef87U, 0x3a27ced2U, 0x39e77ab4U, 0x3a2a2b27U,
        0x3a3cafafU, 0x39ec4ae9U, 0x3a4fc7bbU, 0x3a0803a0U, 0x3a54ad56U, 0x3a34ceeaU, 0x39d7b0ddU,
        0x3a2b74aaU, 0x3a2932b7U, 0x39fc2a30U, 0x3a30941bU, 0x3a4c0012U}}};
  for (const AdamRecord& record : records) {
    Tensor parameter = form_values(0);
    set_requires_grad(parameter);
    Adam adam({parameter},
              {.weight_decay = 0.1,
               .amsgrad = record.amsgrad,
               .maximize = record.maximize,
               .form = record.form},
              record.decay);
    stepped(record, adam, parameter);
    EXPECT_EQ(words_of(parameter.detach()), record.parameter) << int(record.form);
    EXPECT_EQ(words_of(adam.state(0).at("exp_avg_sq")), record.exp_avg_sq) << int(record.form);
  }
}

// If this fails, a form changes with the cut of a parameter where it shouldn't: FSDP would give
// other bits than one device.
TEST(AdamForms, OnlyTheFusedFormDependsOnTheCut) {
  for (AdamForm form : {AdamForm::plain, AdamForm::for_loop, AdamForm::foreach, AdamForm::fused}) {
    Tensor whole = form_values(0);
    std::vector<Tensor> pieces = {whole.narrow({0, 0, 7}).clone(),
                                  whole.narrow({0, 7, 12}).clone()};
    auto step = [&](std::vector<Tensor> parameters) {
      for (Tensor& parameter : parameters) set_requires_grad(parameter);
      Adam adam(parameters, {.form = form});
      for (std::int64_t number = 1; number <= 3; ++number) {
        std::int64_t start = 0;
        for (Tensor& parameter : parameters) {
          set_grad(parameter, form_values(number).narrow({0, start, parameter.numel()}).clone());
          start += parameter.numel();
        }
        adam.step();
      }
      std::vector<float> squares;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        Tensor second = adam.state(i).at("exp_avg_sq");
        for (float value : second.values<float>()) squares.push_back(value);
      }
      return squares;
    };
    EXPECT_EQ(step({whole}) == step(pieces), form != AdamForm::fused) << int(form);
  }
}

// TailRecord are the second moments of PyTorch 2.15.0's fused Adam after one step from `second`:
// of elements in its vectors, and after them.
struct TailRecord {
  DType dtype;
  double gradient, second, in_vectors, after;
};

// If this fails, the elements that vectors leave over have other bits than PyTorch's, in a size or
// a dtype that no other test has: its loop over them runs in vectors of 32 bytes.
TEST(AdamForms, TheTailOfTheFusedKernelBeginsAfterTheLast32Bytes) {
  const TailRecord records[] = {
      {DType::float64, -0x1.35281a692942ap-1, 0x1.9d0cf4eb06721p-9, 0x1.cc6d2dc426978p-9,
       0x1.cc6d2dc426979p-9},
      {DType::float32, -0x1.7380cp-2, 0x1.28ecb8p-11, 0x1.6da28cp-11, 0x1.6da28ep-11},
      {DType::bfloat16, -0x1.bp+0, 0x1.38p-7, 0x1.96p-7, 0x1.94p-7},
      {DType::float16, -0x1.35p+0, 0x1.64p-8, 0x1.c34p-8, 0x1.c3p-8}};
  for (const TailRecord& record : records) {
    std::int64_t vector = 32 / std::int64_t(bytes_per_element(record.dtype));
    for (std::int64_t count = 1; count <= 5 * vector; ++count) {
      AdamTensors tensors{
          zeros({count}, record.dtype), full({count}, record.dtype, record.gradient),
          zeros({count}, record.dtype), full({count}, record.dtype, record.second), 2};
      adam_({&tensors, 1}, {.form = AdamForm::fused}, WeightDecay::added);
      Tensor seconds = converted(tensors.exp_avg_sq, DType::float64);
      for (std::int64_t i = 0; i < count; ++i)
        ASSERT_EQ(seconds.values<double>()[std::size_t(i)],
                  i < count - count % vector ? record.in_vectors : record.after)
            << to_string(record.dtype) << ", element " << i << " of " << count;
    }
  }
}

// WideRecord are the bits of PyTorch 2.15.0's fused kernels after seven steps in float64.
struct WideRecord {
  WeightDecay decay;
  bool amsgrad, maximize;
  std::array<std::uint64_t, 15> parameter, exp_avg_sq;
};

// If this fails, a run in float64 differs from PyTorch's: the corrections of the moments are powers
// that the C library rounds correctly.
TEST(AdamForms, BitsInFloat64AreThoseOfPyTorch) {
  const WideRecord records[] = {
      {WeightDecay::decoupled,
       false,
       true,
       {0xbfe372e83b6466e6U, 0xbf9fc0ca907fd047U, 0x3fe172e2f7c2db78U, 0xbfdcf4ac0ee80b04U,
        0x3fc0040d582be61dU, 0x3fe66ad0526a05fbU, 0xbfd2dc5fdb193618U, 0x3fd21e9bce81f19dU,
        0xbfe6ff82fa10fa91U, 0xbfc186b43e61c816U, 0x3fdbd37a6507c3b1U, 0xbfe20d47300d5051U,
        0x3f90c8e399fbe10dU, 0x3fe2e0a1a6818960U, 0xbfd9db45d8cc694fU},
       {0x3f57ce4d045b377eU, 0x3f574b57c1ef020bU, 0x3f58bca352592018U, 0x3f57440a3cab2428U,
        0x3f58143d43418061U, 0x3f57a40201e926e0U, 0x3f5778c96e24f020U, 0x3f5797bfb35def1bU,
        0x3f5747e7f1a0b145U, 0x3f5803ac2cca4e51U, 0x3f57781982646985U, 0x3f5877489db567faU,
        0x3f574e6e1c1a178dU, 0x3f581a8d35441a0bU, 0x3f5796c294e6a173U}},
      {WeightDecay::added,
       true,
       false,
       {0xbfe3827bd2953c9eU, 0xbfa017e760b74d1aU, 0x3fe184f37b29d1fdU, 0xbfdcec5c68b5488bU,
        0x3fbfe8690ede03e8U, 0x3fe6890e43a5d87eU, 0xbfd31a8d0bba928eU, 0x3fd1d90d4e42f145U,
        0xbfe6f352fddd0bf4U, 0xbfc271cf602f1c8bU, 0x3fdc1fd9a6ba9357U, 0xbfe1e9ac216cbcb1U,
        0x3f8e5eca5cd4eec0U, 0x3fe31665696f2957U, 0xbfda17c9980a3c17U},
       {0x3f572dd2adffda16U, 0x3f57507703e8f8e4U, 0x3f5a67b53d8a01b1U, 0x3f576ebfef9da4e2U,
        0x3f57d6c47385a23fU, 0x3f58cb1bd36b9282U, 0x3f5801c89ba50cd5U, 0x3f581944c3642c12U,
        0x3f586caecb9f231cU, 0x3f57bd45649a2001U, 0x3f57a7b8d0d81cb1U, 0x3f5a2544f69671dfU,
        0x3f5751515f91f5cbU, 0x3f5784907477dd7bU, 0x3f574817c9a1011bU}}};
  for (const WideRecord& record : records) {
    auto values = [](std::int64_t number) {
      return converted(form_values(number), DType::float64).narrow({0, 0, 15}).clone();
    };
    Tensor parameter = values(0);
    set_requires_grad(parameter);
    Adam adam({parameter},
              {.weight_decay = 0.1,
               .amsgrad = record.amsgrad,
               .maximize = record.maximize,
               .form = AdamForm::fused},
              record.decay);
    for (std::int64_t step = 1; step <= 7; ++step) {
      set_grad(parameter, values(step));
      adam.step();
    }
    auto bits = [](const Tensor& tensor) {
      std::array<std::uint64_t, 15> words{};
      std::memcpy(words.data(), tensor.values<double>().data(), sizeof(words));
      return words;
    };
    EXPECT_EQ(bits(parameter.detach()), record.parameter) << int(record.decay);
    EXPECT_EQ(bits(adam.state(0).at("exp_avg_sq")), record.exp_avg_sq) << int(record.decay);
  }
}

}  // namespace
}  // namespace simmesh::optim
