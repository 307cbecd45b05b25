#include <array>
#include <cstring>
#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/optim/adam.h"
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

}  // namespace
}  // namespace simmesh::optim
