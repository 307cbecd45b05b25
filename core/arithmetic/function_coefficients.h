#pragma once

// Like lanes.h: coefficients of the functions, from 300-bit arithmetic.
namespace simmesh::SIMMESH_KERNELS {
namespace {

// erf on [i/4, (i+1)/4) in powers of t = 8 (x - i/4) - 1.
constexpr int erf_terms = 14;
constexpr double erf_pieces[24][erf_terms] = {
    {0x1.1f5e1a35c3b89p-3, 0x1.1c62fa1e869b6p-3, -0x1.1c62fa1e869b6p-9, -0x1.6f552dbcc3336p-11,
     0x1.196c9cd8dfca8p-16, 0x1.aaba623e12361p-19, -0x1.734ea69bdc7d2p-24, -0x1.89258e785cda9p-27,
     0x1.6f681aaa3f16bp-32, 0x1.2793348608955p-35, -0x1.22d109a48d15ap-40, -0x1.75b54bf7b0d0ep-44,
     0x1.7cb444556bf36p-49, 0x1.94398b7b8da6ap-53},
    {0x1.9dd0d2b721f39p-2, 0x1.f5f0cdaf15313p-4, -0x1.78749a434fe4ep-8, -0x1.e106c51d1ef9dp-12,
     0x1.5529abcd00588p-15, 0x1.7488b8a7f1c42p-20, -0x1.9a7945cd2da95p-23, -0x1.65c10b83fca45p-29,
     0x1.709ab515e9adbp-31, 0x1.0422bfb5da784p-40, -0x1.0755118af8ec6p-39, 0x1.e964115a10ec6p-47,
     0x1.356a242cd9cfdp-48, -0x1.1714d0fc0d9d5p-54},
    {0x1.3f196dcd0f135p-1, 0x1.86e9694134b9ep-4, -0x1.e8a3c39181e85p-8, -0x1.c8105021682e3p-14,
     0x1.6963c8a39d6a9p-15, -0x1.c1242dfffc29dp-21, -0x1.52b2668e8e79ep-23, 0x1.c7cd9c1c33f20p-28,
     0x1.b62f4aa41d4f5p-32, -0x1.dc3b45b454b98p-36, -0x1.8115196938295p-41, 0x1.637789abbef4dp-44,
     0x1.56aad08e800dep-51, -0x1.9eb221ea64a70p-53},
    {0x1.91724951b8fc6p-1, 0x1.0cab61f084b93p-4, -0x1.d62beb64e8442p-8, 0x1.7c9d756a115bbp-13,
     0x1.cc60567d78d9ep-16, -0x1.1350f4b222ac4p-19, -0x1.53bb4a5c0b611p-25, 0x1.30ac21937e96dp-27,
     -0x1.e3f4cb433d22bp-34, -0x1.aae22e0ff4eedp-36, 0x1.d6dfbe957ca57p-41, 0x1.98fff5ff624b4p-45,
     -0x1.915bed4afb529p-49, -0x1.e6ddd64b2a95ep-55},
    {0x1.c6dad2829ec62p-1, 0x1.45e99bcbb7915p-5, -0x1.6ea6cf452e838p-8, 0x1.4cb3cf0aa0b9bp-12,
     0x1.ca5083167a46cp-18, -0x1.f65d15f1cf99cp-20, 0x1.fd1c6c1186794p-25, 0x1.3acc784258a78p-28,
     -0x1.8b43c3abb8865p-32, -0x1.79b053ad32780p-39, 0x1.2e519e1356da2p-40, -0x1.73152fe53b082p-46,
     -0x1.27a40afbea281p-49, 0x1.9b54c7b16aa7cp-54},
    {0x1.e5768c3b4a3fcp-1, 0x1.5ce595c455b0ap-6, -0x1.dfbbadedf5d2ep-9, 0x1.4374d82e04c67p-12,
     -0x1.f3b8d52d358c8p-18, -0x1.f572c4c8c7ba4p-21, 0x1.6b16f52c91f25p-24, -0x1.73ffa9b7745c4p-31,
     -0x1.174047eaaafddp-32, 0x1.9da3d3ec66f76p-37, 0x1.53532d21de0fdp-42, -0x1.6391ef4a7c887p-45,
     0x1.d6433a5bfba76p-52, 0x1.5ce68bda6c7c2p-54},
    {0x1.f4f693b67bd77p-1, 0x1.499d478bca735p-7, -0x1.0bcfca21947dbp-9, 0x1.d6631e1a28e9ep-13,
     -0x1.974c0368673adp-17, -0x1.17d430bd57973p-24, 0x1.d857f2c5227abp-25, -0x1.954ab0f5b00bap-29,
     -0x1.2e43f37ee7b19p-35, 0x1.71cd78efd4823p-37, -0x1.75421bec5c0b8p-42, -0x1.078af351cb4c0p-46,
     0x1.6e8b92181fc88p-50, -0x1.1447faead94cap-57},
    {0x1.fbe61eef4cf6ap-1, 0x1.12ceb37ff9bc3p-8, -0x1.01a1c847fa207p-10, 0x1.143d1c6f4f093p-13,
     -0x1.5a316520b81a6p-17, 0x1.779b1e57044bfp-22, 0x1.0d099c7b1ace5p-26, -0x1.42fcbaa88c1f8p-29,
     0x1.76ff5806663b6p-34, 0x1.7bda7b6e7c974p-39, -0x1.991c60275eec7p-42, 0x1.353beea68e1c9p-47,
     0x1.2ef9f18a24d7bp-51, -0x1.5adb90a255050p-55},
    {0x1.fea4218d6594ap-1, 0x1.94624e78e0fafp-10, -0x1.ada873606f0aap-12, 0x1.0ea475da3be7fp-14,
     -0x1.afe553fa44e57p-18, 0x1.9973b489fa209p-22, -0x1.dd78ee169de01p-28, -0x1.ea03bb24817ebp-31,
     0x1.6aa2c1b255f9dp-34, -0x1.2fdb3002b75e6p-39, -0x1.017b659123047p-43, 0x1.8dd7f60df1ae5p-47,
     -0x1.eeba55079d3aep-53, -0x1.1cd22ff4dfe6ep-56},
    {0x1.ff9960f3eb327p-1, 0x1.06918b6355624p-11, -0x1.37ccd585f564bp-13, 0x1.c1ec102e364f1p-16,
     -0x1.ae59615f8ea6ep-19, 0x1.11dae47350d7fp-22, -0x1.982b274bc23c9p-27, 0x1.0283e0ba4fd76p-34,
     0x1.377c45e78e2ecp-35, -0x1.61ec71704d548p-39, 0x1.cae3dd48b9cfdp-45, 0x1.0929b77408690p-48,
     -0x1.5b6f77a3b7fd1p-52, 0x1.9f0def0ea92e1p-58},
    {0x1.ffe514bbdc197p-1, 0x1.2ce898809244ep-13, -0x1.8af14828bffa6p-15, 0x1.407fbd18f1201p-17,
     -0x1.62d4c6d49c839p-20, 0x1.146c4b3e28c0cp-23, -0x1.267f3bc3d19acp-27, 0x1.64f891b0f4b96p-32,
     0x1.229eec24b722ap-39, -0x1.4006bc03a4490p-40, 0x1.3632acb8fdaa1p-44, -0x1.5a7b46616e009p-50,
     -0x1.c3451ecebb4cbp-54, 0x1.15f4902e7651fp-57},
    {0x1.fff9ba420e834p-1, 0x1.30538fbb77ecdp-15, -0x1.b5781e9d7c646p-17, 0x1.89e17c074d373p-19,
     -0x1.ed4ac7daea6abp-22, 0x1.c11f27065cab3p-25, -0x1.2add1ce739c2dp-28, 0x1.151f78548ec84p-32,
     -0x1.1c64008e5333fp-37, -0x1.0ec4b5ae0b2c1p-43, 0x1.18163121ba79fp-45, -0x1.f102be05c7f63p-50,
     0x1.0c11efc8b148bp-55, 0x1.40c4363a97b22p-59},
    {0x1.fffeb3ebb267bp-1, 0x1.0f9e1b4dd36dfp-17, -0x1.a8670aa99a5bbp-19, 0x1.a3737e2a2f2bcp-21,
     -0x1.24544f02d2ba0p-23, 0x1.2e7e763d337e7p-26, -0x1.da496e531e0b1p-30, 0x1.176cf663f753ep-33,
     -0x1.d2ac6d282bda0p-38, 0x1.aafdbee83a820p-43, 0x1.03f680e8bdde7p-48, -0x1.ab31762815ae2p-51,
     0x1.6ceb5b8478663p-55, -0x1.b550e5a36c1b4p-61},
    {0x1.ffffc316d9ed0p-1, 0x1.abe09e9144b5ep-20, -0x1.690585ca91f9ap-21, 0x1.84522fe8815bcp-23,
     -0x1.298f8d45f62f7p-25, 0x1.577577885f8dfp-28, -0x1.330aab780644ap-31, 0x1.ac9997dceb433p-35,
     -0x1.cc15782b3d6edp-39, 0x1.64c5310853673p-43, -0x1.34f1d26d9a0c4p-48, -0x1.5f96016fe939dp-54,
     0x1.1f4e76ffc315cp-56, -0x1.ede04bdfe78a0p-61},
    {0x1.fffff618c3da6p-1, 0x1.296a70f414053p-22, -0x1.0d88765d32253p-23, 0x1.394b1fa67116ep-25,
     -0x1.05760ad1bc853p-27, 0x1.4c1fe48a5a8e4p-30, -0x1.4b98203432456p-33, 0x1.085c0f8244f0ap-36,
     -0x1.510a3b0c57187p-40, 0x1.5165543bf715ep-44, -0x1.f31d018c79c2ep-49, 0x1.b075e019b188fp-54,
     0x1.5a57ff2bbaf50p-60, -0x1.519fea4de0795p-62},
    {0x1.fffffe92ced93p-1, 0x1.6ce1aa3fd7bddp-25, -0x1.617a9cedd900fp-26, 0x1.b95fa39b39f83p-28,
     -0x1.8e1fc41537b65p-30, 0x1.1371721800f98p-32, -0x1.2eb290b247f18p-35, 0x1.0d8c35cb61a02p-38,
     -0x1.8885691c7f197p-42, 0x1.d25c44e49e972p-46, -0x1.bbbd248210dacp-50, 0x1.4002f4e05b49dp-54,
     -0x1.1e7a76d1c54cfp-59, -0x1.2f758b71b3d7bp-67},
    {0x1.ffffffd169d0cp-1, 0x1.8b0cfce0579e0p-28, -0x1.976564c75a5a9p-29, 0x1.0fdac559b6f62p-30,
     -0x1.07600ca6e112ap-32, 0x1.89ca7745e4052p-35, -0x1.d73aa4e46d7c0p-38, 0x1.cd9e0d8fcf488p-41,
     -0x1.7710b63fddccdp-44, 0x1.fc1a0eb2d72afp-48, -0x1.1dd3b2ae1f2abp-51, 0x1.0674bd5948980p-55,
     -0x1.777a341a9f1a2p-60, 0x1.667020d39d822p-65},
    {0x1.fffffffabd229p-1, 0x1.7974e743dea3dp-31, -0x1.9cd7dcf23b795p-32, 0x1.252af6f48c16ap-33,
     -0x1.2f7354e6bba88p-35, 0x1.e7102f88ab474p-38, -0x1.3ab0b0ecf016fp-40, 0x1.4f610846cf09fp-43,
     -0x1.2b632257fc6ccp-46, 0x1.c3b773daea506p-50, -0x1.20cbb2d631514p-53, 0x1.379fa8c027841p-57,
     -0x1.18d3c5e5e07c9p-61, 0x1.9146ea0e6a1f5p-66},
    {0x1.ffffffff79626p-1, 0x1.3e44e45301b92p-34, -0x1.6fffa7fff9d8ep-35, 0x1.1508f768eb52cp-36,
     -0x1.30fd0c66b845fp-38, 0x1.05563283e3c17p-40, -0x1.6a3a9d3c7d75fp-43, 0x1.a06fc9e6c10eap-46,
     -0x1.93e272dbab8b9p-49, 0x1.4e2131f2eeac2p-52, -0x1.da820932d9737p-56, 0x1.21aec56f6ccbfp-59,
     -0x1.3175c7cd5f91cp-63, 0x1.0cf52527f6709p-67},
    {0x1.fffffffff4188p-1, 0x1.d9a880f306bd9p-38, -0x1.20a2ae9417c2fp-38, 0x1.cb2a2e5641a32p-40,
     -0x1.0bc6ecf6909f6p-41, 0x1.e7ba5766dbcc5p-44, -0x1.6893474a03d1cp-46, 0x1.bc2ac3b0bafbap-49,
     -0x1.d01014a9ea76ep-52, 0x1.a05e5f5619db9p-55, -0x1.436ce5ce7c502p-58, 0x1.b51d3ca7aecbep-62,
     -0x1.044fd609f0ff1p-65, 0x1.08c11109c077fp-69},
    {0x1.ffffffffff11ap-1, 0x1.370ab8327af5fp-41, -0x1.8e85bc00ac51ap-42, 0x1.4decacbf86df8p-43,
     -0x1.9b3c5580a5177p-45, 0x1.8c78e44833ca4p-47, -0x1.373cd6a937ba3p-49, 0x1.988ab1aba646cp-52,
     -0x1.c8c041f1704d7p-55, 0x1.b8bfe05c974e6p-58, -0x1.72820501a0dc8p-61, 0x1.112736ab4ef36p-64,
     -0x1.67f711c2bbde0p-68, 0x1.9999b8d79f1e4p-72},
    {0x1.ffffffffffef8p-1, 0x1.68823e52970c2p-45, -0x1.e46f03bef78c3p-46, 0x1.aa76120eb2974p-47,
     -0x1.146faeb96b46ep-48, 0x1.192d3b2610e20p-50, -0x1.d2eaadc4f7352p-53, 0x1.450d4ae9cbc0bp-55,
     -0x1.82c33b9fd676ap-58, 0x1.8ec2e4e36a25fp-61, -0x1.67d3944760a70p-64, 0x1.1e6ff78760efbp-67,
     -0x1.9bfe7ceb97eeap-71, 0x1.014af1a382f47p-74},
    {0x1.ffffffffffff0p-1, 0x1.70beaf9c7ffc1p-49, -0x1.0346137a06196p-49, 0x1.de74c0dc39aaap-51,
     -0x1.459c8177b51bep-52, 0x1.5c5ee40327d92p-54, -0x1.30e3db5570066p-56, 0x1.c08779f08cf58p-59,
     -0x1.1ab4d191f2b4bp-61, 0x1.35c672492513ep-64, -0x1.2a247d2af148ep-67, 0x1.fc8c0c353ef08p-71,
     -0x1.8b52638f8cdbdp-74, 0x1.0b8cb0478f82fp-77},
    {0x1.fffffffffffffp-1, 0x1.4cd9c04158ceep-53, -0x1.e8dfd25febc9cp-54, 0x1.d7c149fc9bdb2p-55,
     -0x1.50429df72cebfp-56, 0x1.796a3a05be8e0p-58, -0x1.5b22801ba0685p-60, 0x1.0ce14d6192e2bp-62,
     -0x1.65b9fe3a82fa8p-65, 0x1.9ebf8e43ec707p-68, -0x1.a78da1c6dc71ep-71, 0x1.80a62e272c3edp-74,
     -0x1.40d8e3d300fefp-77, 0x1.d2539bbaa16d3p-81},
};

// The first 1216 bits of 2/pi.
constexpr std::uint64_t two_over_pi[19] = {
    0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u,
    0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u,
    0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu,
    0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu,
    0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu};

// 1 / k!, from k = 0.
constexpr double inverse_factorials[20] = {
    0x1.0000000000000p+0,  0x1.0000000000000p+0,  0x1.0000000000000p-1,  0x1.5555555555555p-3,
    0x1.5555555555555p-5,  0x1.1111111111111p-7,  0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13,
    0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26,
    0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33, 0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-41,
    0x1.ae7f3e733b81fp-45, 0x1.952c77030ad4ap-49, 0x1.6827863b97d97p-53, 0x1.2f49b46814157p-57};

constexpr double ln2_high = 0x1.62e42fee00000p-1;  // 32 bits
constexpr double ln2_low = 0x1.a39ef35793c76p-33;
constexpr double log2_e = 0x1.71547652b82fep+0;
constexpr double log2_e_high = 0x1.7154700000000p+0;  // 21 bits
constexpr double log2_e_low = 0x1.94ae0bf85ddf4p-22;
// pi/2 in three parts; the first two have 33 bits.
constexpr double half_pi_1 = 0x1.921fb54400000p+0, half_pi_2 = 0x1.0b4611a600000p-34,
                 half_pi_3 = 0x1.3198a2e037073p-69;
constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_rest = 0x1.1a62633145c07p-54;
constexpr double inverse_half_pi = 0x1.45f306dc9c883p-1;

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
