#include "checkpoint/torch_file/pickle.h"

#include <gmock/gmock.h>

#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::bytes_of;
using ::testing::HasSubstr;
using Kind = PickleNode::Kind;
using namespace std::string_literals;

// Returns a dialect with all opcodes that a reader may allow.
const std::string all_opcodes =
    "\x80\x95N\x88\x89KMJ\x8aG\x8cX)t\x85\x86\x87(}]aseu\x94qrhjc\x93R\x81"
    "bQ."s;

const PickleDialect& test_dialect() {
  static const PickleDialect dialect = {all_opcodes, {"m.C", "m.sub*"}};
  return dialect;
}

std::string problem_of(const std::string& text) {
  return error_text([&] { Pickle(bytes_of(text), test_dialect()); });
}

// Returns a value as a text of one line.
std::string shown(PickleValue value) {
  auto list = [&](const char* open, const char* close) {
    std::string text = open;
    for (PickleValue item : value->items) text += shown(item) + ",";
    return text + close;
  };
  switch (value->kind) {
    case Kind::none: return "None";
    case Kind::boolean: return value->flag ? "True" : "False";
    case Kind::integer: return std::to_string(value->integer);
    case Kind::number: return fmt::format("{}f", value->number);
    case Kind::text: return "'" + value->text + "'";
    case Kind::list: return list("[", "]");
    case Kind::tuple: return list("(", ")");
    case Kind::dict: return list("{", "}");
    case Kind::global: return value->text;
    case Kind::object: return list("<", ">");
    case Kind::persistent: return list("@", "");
  }
  return "";
}

std::string value_of(const std::string& text) {
  Pickle pickle(bytes_of(text), test_dialect());
  return shown(pickle.root());
}

TEST(Pickle, ReadsConstants) {
  EXPECT_EQ(value_of("\x80\x04N."s), "None");
  EXPECT_EQ(value_of("\x80\x04\x95\x01\0\0\0\0\0\0\0\x88."s), "True");
  EXPECT_EQ(value_of("\x89."s), "False");
  EXPECT_EQ(value_of("K\xff."s), "255");
  EXPECT_EQ(value_of("M\xff\xff."s), "65535");
  EXPECT_EQ(value_of("J\xff\xff\xff\xff."s), "-1");
  EXPECT_EQ(value_of("J\0\0\0\x80."s), "-2147483648");
  EXPECT_EQ(value_of("G\x3f\xf8\0\0\0\0\0\0."s), "1.5f");
  EXPECT_EQ(value_of("X\x03\0\0\0abc."s), "'abc'");
  EXPECT_EQ(value_of("\x8c\x02"
                     "ab."s),
            "'ab'");
}

// Integers have any length, with the sign in the highest bit.
TEST(Pickle, ReadsLongIntegers) {
  EXPECT_EQ(value_of("\x8a\0."s), "0");
  for (int count = 1; count <= 8; ++count) {
    std::string head = {'\x8a', char(count)};
    EXPECT_EQ(value_of(head + std::string(std::size_t(count), '\xff') + "."), "-1");
    EXPECT_EQ(value_of(head + std::string(std::size_t(count - 1), '\0') + "\x80."),
              std::to_string(-(std::int64_t{1} << (8 * count - 2)) * 2));
  }
  EXPECT_EQ(value_of("\x8a\x02\xff\x7f."s), "32767");
  EXPECT_THAT(problem_of("\x8a\x09" + std::string(9, 'a') + "."),
              HasSubstr("an integer has more than 64 bits"));
}

TEST(Pickle, ReadsContainers) {
  EXPECT_EQ(value_of(")."), "()");
  EXPECT_EQ(value_of("N\x85."), "(None,)");
  EXPECT_EQ(value_of("K\1K\2\x86."), "(1,2,)");
  EXPECT_EQ(value_of("K\1K\2K\3\x87."), "(1,2,3,)");
  EXPECT_EQ(value_of("(K\1K\2K\3K\4t."), "(1,2,3,4,)");
  EXPECT_EQ(value_of("]K\1a(K\2K\3e."), "[1,2,3,]");
  EXPECT_EQ(value_of("}K\1K\2s(K\3K\4K\5K\6u."), "{1,2,3,4,5,6,}");
  EXPECT_EQ(value_of("](e."), "[]");
}

TEST(Pickle, ReadsObjectsAndRunsNothing) {
  EXPECT_EQ(value_of("cm\nC\n."), "m.C");
  EXPECT_EQ(value_of("\x8c\1m\x8c\5sub.x\x93."), "m.sub.x");
  EXPECT_EQ(value_of("cm\nC\n)R."), "<m.C,(),>");
  EXPECT_EQ(value_of("cm\nC\nK\1\x85\x81}b."), "<m.C,(1,),{},>");
  EXPECT_EQ(value_of("K\7Q."), "@7,");
}

TEST(Pickle, RemembersValues) {
  EXPECT_EQ(value_of("K\1\x94h\0\x86."s), "(1,1,)");
  EXPECT_EQ(value_of("K\1q\0K\2q\1h\0j\1\0\0\0\x87\x86."s), "(1,(2,1,2,),)");
  EXPECT_EQ(value_of("K\1r\0\0\0\0K\2q\0h\0\x87."s), "(1,2,2,)") << "a memo may be replaced";
  EXPECT_THAT(problem_of("h\0."s), HasSubstr("byte 0: a memo isn't there"));
  EXPECT_THAT(problem_of("j\1\0\0\0."s), HasSubstr("a memo isn't there"));
  EXPECT_THAT(problem_of("Nq\1."s), HasSubstr("a memo is out of order"));
  EXPECT_THAT(problem_of("Nr\xff\xff\xff\x7f."s), HasSubstr("a memo is out of order"));
  EXPECT_THAT(problem_of("q\0."s), HasSubstr("a memo is out of order"));
}

TEST(Pickle, RefusesEveryOpcodeThatIsNotInTheDialect) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    std::string text = {char(opcode)};
    if (all_opcodes.find(char(opcode)) == all_opcodes.npos) {
      EXPECT_THAT(problem_of(text), HasSubstr("is not one that is expected here")) << opcode;
    }
    PickleDialect without = test_dialect();
    std::string others = all_opcodes;
    std::erase(others, char(opcode));
    without.opcodes = others;
    EXPECT_THAT(error_text([&] { Pickle(bytes_of(text), without); }),
                HasSubstr(fmt::format(
                    "byte 0: the opcode 0x{:02x} is not one that is expected here", opcode)));
  }
  // An unknown opcode is refused even if the dialect has it.
  EXPECT_THAT(error_text([] {
                Pickle(bytes_of("\x8e"), {"\x8e", {}});
              }),
              HasSubstr("the opcode 0x8e has no meaning"));
}

TEST(Pickle, RefusesEveryGlobalThatIsNotInTheDialect) {
  for (const char* name : {"os\nsystem\n", "builtins\neval\n", "m\nCC\n", "m.C\n\n", "\nm.C\n",
                           "m\nsu\n", "x.m\nC\n"}) {
    EXPECT_THAT(problem_of("c"s + name + ")R."),
                HasSubstr("is no class or function that a checkpoint needs"))
        << name;
  }
  EXPECT_THAT(problem_of("\x8c\2os\x8c\6system\x93."), HasSubstr("'os.system' is no class"));
  EXPECT_THAT(problem_of("K\1K\2\x93."), HasSubstr("expected a text, got an integer"));
}

TEST(Pickle, RefusesWhatIsOutOfPlace) {
  for (auto [text, why] : std::vector<std::pair<std::string, const char*>>{
           {"", "the pickle ends too early"},
           {"N", "the pickle ends too early"},
           {"cm", "the pickle ends too early"},
           {"M\1", "the pickle ends too early"},
           {"X\5\0\0\0abc."s, "a text is longer than the pickle"},
           {"X\xff\xff\xff\xff"s, "a text is longer than the pickle"},
           {".", "there is no value to take"},
           {"NN.", "values are left over at the end"},
           {"N(.", "there is no value to take"},
           {"(N.", "values are left over at the end"},
           {"N.N", "there are bytes behind the end"},
           {"Nt.", "there is no mark"},
           {"]Ne.", "there is no mark"},
           {"}(Nu.", "a key has no value"},
           {"N\x86.", "there is no value to take"},
           {"N(\x85.", "there is no value to take"},
           {"]a.", "a container was expected"},
           {"NNa.", "a container was expected"},
           {"]KaKbs.", "a container was expected"},
           {"}(Ne.", "a container was expected"},
           {"](NNu.", "a container was expected"},
           {"(e.", "a container was expected"},
           {"N)R.", "what is called is no class or function"},
           {"cm\nC\nNR.", "what is called is no class or function"},
           {"cm\nC\n]\x81.", "what is called is no class or function"},
           {"N}b.", "a container was expected"},
           {"cm\nC\n)R}b}b.", "an object has its state already"}})
    EXPECT_THAT(problem_of(text), HasSubstr(why)) << text;
}

// A list may hold itself, or be nested as deep as the pickle is long. The reader must not recurse.
TEST(Pickle, TakesCyclesAndDepth) {
  Pickle cycle(bytes_of("]\x94h\0a."s), test_dialect());
  EXPECT_EQ(cycle.root()->items[0], cycle.root());
  std::string deep = "N" + std::string(1'000'000, '\x85') + ".";
  Pickle nested(bytes_of(deep), test_dialect());
  EXPECT_EQ(nested.root()->kind, Kind::tuple);
}

TEST(Pickle, ViewsSayWhatTheyExpected) {
  Pickle pickle(bytes_of("}(\x8c\1aK\1\x8c\1l](K\2Neu."s), test_dialect());
  PickleValue dict = pickle.root();
  EXPECT_EQ(as_integer(field(dict, "a"), "a"), 1);
  EXPECT_EQ(find_field(dict, "b"), nullptr);
  EXPECT_THAT(error_text([&] { field(dict, "b"); }), HasSubstr("a dict without the key 'b'"));
  EXPECT_THAT(error_text([&] { field(field(dict, "a"), "b"); }),
              HasSubstr("b: expected a dict, got an integer"));
  EXPECT_THAT(error_text([&] { as_text(dict, "a name"); }),
              HasSubstr("a name: expected a text, got a dict"));
  EXPECT_THAT(error_text([&] { as_items(dict, "sizes"); }),
              HasSubstr("sizes: expected a list or tuple, got a dict"));
  EXPECT_THAT(error_text([&] { as_integers(field(dict, "l"), "sizes"); }),
              HasSubstr("sizes: expected an integer, got None"));
  EXPECT_THAT(error_text([&] { as_object(dict, "m.C"); }),
              HasSubstr("m.C: expected an object, got a dict"));
  Pickle object(bytes_of("cm\nC\n)R."), test_dialect());
  EXPECT_EQ(as_object(object.root(), "m.C").size(), 2u);
  EXPECT_THAT(error_text([&] { as_object(object.root(), "m.D"); }),
              HasSubstr("expected m.D, got m.C"));
}

}  // namespace
}  // namespace simmesh::checkpoint
