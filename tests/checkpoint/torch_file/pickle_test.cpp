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

std::string problem_of(const std::string& text) {
  return error_text([&] { Pickle(bytes_of(text)); });
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
    case Kind::wide_integer: return value->text + "w";
    case Kind::number: return fmt::format("{}f", value->number);
    case Kind::text: return "'" + value->text + "'";
    case Kind::bytes: return "b'" + value->text + "'";
    case Kind::list: return list("[", "]");
    case Kind::tuple: return list("(", ")");
    case Kind::set: return list("{|", "|}");
    case Kind::dict: return list("{", "}");
    case Kind::global: return value->text;
    case Kind::object: return list("<", ">");
    case Kind::persistent: return list("@", "");
  }
  return "";
}

std::string value_of(const std::string& text) {
  Pickle pickle(bytes_of(text));
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
  // Bytes that aren't needed don't make a number wide.
  EXPECT_EQ(value_of("\x8a\x0a\x05" + std::string(9, '\0') + "."), "5");
  EXPECT_EQ(value_of("\x8a\x09" + std::string(8, '\0') + "\x01."), "18446744073709551616w");
  EXPECT_EQ(value_of("\x8a\x09" + std::string(8, '\0') + "\xff."), "-18446744073709551616w");
  EXPECT_THAT(value_of("\x8b\x00\x01\x00\x00"s + std::string(256, '\x11') + "."),
              HasSubstr("0x1111"));
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
  EXPECT_THAT(problem_of("Nr\xff\xff\xff\x7f."s), HasSubstr("a memo is out of order"));
  EXPECT_THAT(problem_of("q\0."s), HasSubstr("a memo is out of order"));
}

// Protocols 0 and 1 write numbers and texts as lines; Python 2 wrote texts as bytes.
TEST(Pickle, ReadsOldProtocols) {
  EXPECT_EQ(value_of("I12\n."), "12");
  EXPECT_EQ(value_of("I01\n."), "True");
  EXPECT_EQ(value_of("L-99999999999999999999L\n."), "-99999999999999999999w");
  EXPECT_EQ(value_of("F1.5\n."), "1.5f");
  EXPECT_EQ(value_of("S'a\\n\\x41\\''\n."), "'a\nA''");
  EXPECT_EQ(value_of("V\\u20ac\xe9\n."), "'\u20ac\u00e9'");
  EXPECT_EQ(value_of("U\2\xff\1."), "b'\xff\1'") << "bytes that are no text";
  EXPECT_EQ(value_of("T\2\0\0\0ab."s), "'ab'");
  EXPECT_EQ(value_of("(lp0\nI1\na."), "[1,]");
  EXPECT_EQ(value_of("(I1\nI2\nd."), "{1,2,}");
  EXPECT_EQ(value_of("(im\nC\n."), "<m.C,(),>");
  EXPECT_EQ(value_of("(cm\nC\nK\1o."), "<m.C,(1,),>");
  EXPECT_EQ(value_of("Pkey\n."), "@'key',");
  EXPECT_EQ(value_of("K\1p1\nK\2g1\n\x87."), "(1,2,1,)") << "memos may begin at 1";
  EXPECT_THAT(problem_of("Ix\n."), HasSubstr("an integer has no digits"));
  EXPECT_THAT(problem_of("Fx\n."), HasSubstr("a number has no digits"));
  EXPECT_THAT(problem_of("Sx\n."), HasSubstr("a text has no quotes"));
  EXPECT_THAT(problem_of("Ngx\n."), HasSubstr("a memo has no number"));
}

TEST(Pickle, ReadsBytesSetsAndBuffers) {
  EXPECT_EQ(value_of("C\2ab."), "b'ab'");
  EXPECT_EQ(value_of("B\2\0\0\0ab."s), "b'ab'");
  EXPECT_EQ(value_of("\x8e\2\0\0\0\0\0\0\0ab."s), "b'ab'");
  EXPECT_EQ(value_of("\x96\2\0\0\0\0\0\0\0ab."s), "b'ab'");
  EXPECT_EQ(value_of("\x8d\2\0\0\0\0\0\0\0ab."s), "'ab'");
  EXPECT_EQ(value_of("\x8f(K\1K\2\x90."), "{|1,2,|}");
  EXPECT_EQ(value_of("(K\1\x91."), "{|1,|}");
  EXPECT_EQ(value_of("\x97\x98."), "pickle.PickleBuffer");
  EXPECT_EQ(value_of("\x82\7."), "copyreg.extension_7");
  EXPECT_EQ(value_of("N2\x86."), "(None,None,)");
  EXPECT_EQ(value_of("NK\0010."), "None");
  EXPECT_EQ(value_of("N(K\0011."), "None");
}

// Containers are known whatever made them, so that all else finds their entries.
TEST(Pickle, KnowsContainersAndBytesOfTheLibrary) {
  EXPECT_EQ(value_of("ccollections\nOrderedDict\n]K\1K\2\x86"
                     "a\x85R."),
            "{1,2,}");
  EXPECT_EQ(value_of("ccollections\ndefaultdict\nN\x85R(K\1K\2u."), "{1,2,}");
  EXPECT_EQ(value_of("c__builtin__\nset\n](K\1e\x85R."), "{|1,|}");
  EXPECT_EQ(value_of("c_codecs\nencode\nX\2\0\0\0\xc3\xbfX\6\0\0\0latin1\x86R."s), "b'\xff'");
  EXPECT_EQ(value_of("cm\nDict\n)\x81(K\1K\2u}b."), "{1,2,}") << "a subclass of dict";
  EXPECT_EQ(value_of("cm\nList\n)\x81(K\1e."), "[1,]") << "a subclass of list";
}

// A list that is copied again and again would need much more memory than the pickle.
TEST(Pickle, CopiesNoMoreThanItHas) {
  std::string text = "]\x94(" + std::string(1000, 'N') + "ecbuiltins\nset\n\x94";
  for (int i = 0; i < 100; ++i) text += "h\1h\0\x85R0"s;
  EXPECT_THAT(value_of(text + "h\1h\0\x85R\x87."s), HasSubstr("<builtins.set,(["));
}

TEST(Pickle, RefusesOpcodesThatPythonDoesntHave) {
  for (const char* text : {"\xff", "A", "z", "\x99", "\x7f"})
    EXPECT_THAT(problem_of(text), HasSubstr("has no meaning")) << text;
  EXPECT_THAT(problem_of("K\1K\2\x93."), HasSubstr("expected a text, got an integer"));
}

TEST(Pickle, FindsTheEndOfTheFirstOfSeveral) {
  std::vector<std::byte> bytes = bytes_of("K\1.K\2.");
  std::size_t length = 0;
  std::optional<Pickle> first = Pickle::first(bytes, length);
  EXPECT_EQ(shown(first->root()), "1");
  EXPECT_EQ(length, 3u);
  EXPECT_FALSE(Pickle::first(Bytes(bytes).first(2), length)) << "the rest may follow";
}

TEST(Pickle, RefusesWhatIsOutOfPlace) {
  for (auto [text, why] : std::vector<std::pair<std::string, const char*>>{
           {"", "the pickle ends too early"},
           {"N", "the pickle ends too early"},
           {"cm", "the pickle ends too early"},
           {"M\1", "the pickle ends too early"},
           {"X\5\0\0\0abc."s, "the pickle ends too early"},
           {"X\xff\xff\xff\xff"s, "the pickle ends too early"},
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
           {"]a.", "there is no value to take"},
           {"NNa.", "a container was expected"},
           {"]KaKbs.", "a container was expected"},
           {"}(Ne.", "a container was expected"},
           {"](NNu.", "a container was expected"},
           {"(e.", "there is no value to take"},
           {"cm\nC\nNR.", "the arguments of a call are no tuple"},
           {"cm\nC\n]\x81.", "the arguments of a call are no tuple"},
           {"(o.", "an object has no class"},
           {"}b.", "there is no value to take"}})
    EXPECT_THAT(problem_of(text), HasSubstr(why)) << text;
}

// A list may hold itself, or be nested as deep as the pickle is long. The reader must not recurse.
TEST(Pickle, TakesCyclesAndDepth) {
  Pickle cycle(bytes_of("]\x94h\0a."s));
  EXPECT_EQ(cycle.root()->items[0], cycle.root());
  std::string deep = "N" + std::string(1'000'000, '\x85') + ".";
  Pickle nested(bytes_of(deep));
  EXPECT_EQ(nested.root()->kind, Kind::tuple);
}

TEST(Pickle, ViewsSayWhatTheyExpected) {
  Pickle pickle(bytes_of("}(\x8c\1aK\1\x8c\1l](K\2Neu."s));
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
  Pickle object(bytes_of("cm\nC\n)R."));
  EXPECT_EQ(as_object(object.root(), "m.C").size(), 2u);
  EXPECT_THAT(error_text([&] { as_object(object.root(), "m.D"); }),
              HasSubstr("expected m.D, got m.C"));
}

}  // namespace
}  // namespace simmesh::checkpoint
