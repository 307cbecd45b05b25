#include "tools/terminal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/temporary_folder.h"
#include "tests/tools/pseudo_terminal.h"
#include "tests/tools/run_program.h"

// The output for people who run the command by hand.
namespace simmesh {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::PseudoTerminal;
using testing::run_program;
using ::testing::StartsWith;
using testing::TemporaryFolder;

const std::string program = std::string("'") + SIMMESH_PROGRAM + "' ";
const std::string cases = "verify " SIMMESH_SOURCE_DIR "/tests/cases/pytorch/redistribute.jsonl";
const std::string many_cases = "verify " SIMMESH_SOURCE_DIR "/tests/cases/pytorch";
const std::string gate = SIMMESH_SOURCE_DIR "/examples/gates/mlp.toml";

// If this fails, progress isn't shown, stays on the screen, or gets into the output.
TEST(Terminal, ShowsProgressOfVerifyAndErasesIt) {
  TemporaryFolder folder;
  std::string output = (folder.path() / "out").string();
  PseudoTerminal terminal(program + many_cases + " > " + output);
  EXPECT_EQ(terminal.end(), 0);
  EXPECT_THAT(terminal.written(), HasSubstr(" of 5386 cases, "));
  EXPECT_THAT(terminal.written(), HasSubstr("/s, "));
  EXPECT_EQ(terminal.screen(), "");
  EXPECT_EQ(folder.read("out"), run_program(many_cases).output);
}

TEST(Terminal, ShowsProgressOfExploreAndErasesIt) {
  PseudoTerminal terminal("NO_COLOR= " + program + "explore " + gate +
                          " --no-certificate --schedules 300");
  EXPECT_EQ(terminal.end(), 0);
  EXPECT_THAT(terminal.written(), HasSubstr(" of 300 schedules, "));
  EXPECT_EQ(terminal.screen(),
            run_program("explore " + gate + " --no-certificate --schedules 300").output);
}

// Output for programs is never accompanied.
TEST(Terminal, IsSilentWhereTheOutputIsForPrograms) {
  for (const char* option : {" --quiet", " --json"}) {
    PseudoTerminal terminal(program + cases + option);
    EXPECT_EQ(terminal.end(), 0);
    EXPECT_THAT(terminal.written(), Not(HasSubstr(" cases, ")));
  }
}

TEST(Terminal, ColoursAreOnlyForTerminalsThatWantThem) {
  std::string run = program + "run " + gate;
  std::string plain = run_program("run " + gate).output;
  EXPECT_EQ(plain.find('\x1b'), plain.npos);
  PseudoTerminal coloured("NO_COLOR= TERM=xterm " + run);
  EXPECT_EQ(coloured.end(), 0);
  EXPECT_THAT(coloured.written(), HasSubstr("\x1b[32mpass\x1b[0m run: "));
  for (const char* refusal : {"NO_COLOR=1 TERM=xterm ", "TERM=dumb "}) {
    PseudoTerminal refused(refusal + run);
    EXPECT_EQ(refused.end(), 0);
    EXPECT_EQ(refused.screen(), plain);
  }
}

TEST(Terminal, InColoursChangesNothingElse) {
  EXPECT_EQ(in_colours("pass a\nFAIL b\npassed\n FAIL c\n"),
            "\x1b[32mpass\x1b[0m a\n\x1b[31mFAIL\x1b[0m b\npassed\n FAIL c\n");
  EXPECT_EQ(in_colours("pass a"), "\x1b[32mpass\x1b[0m a");
  EXPECT_EQ(in_colours(""), "");
}

// If this fails, `simmesh verify ... | head -1` crashes, hangs or claims success.
TEST(Terminal, AClosedPipeEndsTheCommandQuietly) {
  TemporaryFolder folder;
  for (bool ignores_the_signal : {false, true}) {
    std::string said = (folder.path() / "said").string();
    PseudoTerminal terminal(
        fmt::format("{}{{ sleep 0.3; {}{} --limit 9 2> {}; echo status $? >> {}; }} | true",
                    ignores_the_signal ? "trap '' PIPE; " : "", program, cases, said, said));
    terminal.end();
    EXPECT_EQ(folder.read("said"),
              ignores_the_signal
                  ? "simmesh: [tools/terminal] expected to write to standard output, got an error\n"
                    "status 2\n"
                  : "status 141\n");
  }
}

// If this fails, Ctrl-C loses what was found, or counts as success.
TEST(Terminal, CtrlCPrintsWhatWasFoundSoFar) {
  TemporaryFolder folder;
  std::string output = (folder.path() / "out").string();
  struct Command {
    std::string arguments, progress, last;
  };
  for (const Command& command :
       {Command{"explore " + gate + " --no-certificate --schedules 1000000",
                " of 1000000 schedules", "data hash"},
        Command{"explore " + gate + " --no-certificate --schedules 1000000 --jobs 2", " schedules",
                "data hash"},
        Command{many_cases + " --jobs 2", " cases", " passed, 0 failed"}}) {
    PseudoTerminal terminal(fmt::format("exec {}{} > {}", program, command.arguments, output));
    ASSERT_TRUE(terminal.wait_for(command.progress)) << terminal.written();
    terminal.type("\x03");
    EXPECT_EQ(terminal.end(), 130) << terminal.written();
    EXPECT_THAT(terminal.screen(), EndsWith("simmesh: interrupted\n"));
    EXPECT_THAT(folder.read("out"), HasSubstr(command.last));
    EXPECT_THAT(folder.read("out"), Not(StartsWith("0 ")));
  }
}

// A single run may take hours.
TEST(Terminal, ASecondCtrlCEndsTheCommandAtOnce) {
  TemporaryFolder folder;
  std::string endless =
      folder.write("g.toml",
                   "[mesh]\nshape = [64]\n[world]\nshapes_only = true\n[data]\nbatch = 64\n"
                   "[parallel]\nfsdp = {}\n[train]\nsteps = 10000\n");
  std::string output = (folder.path() / "out").string();
  PseudoTerminal terminal("exec " + program + "explore " + endless + " > " + output);
  terminal.wait_for_handler();
  usleep(500'000);
  terminal.type("\x03");
  usleep(300'000);
  terminal.type("\x03");
  EXPECT_EQ(terminal.end(), 130) << terminal.written();
  EXPECT_THAT(folder.read("out"), Not(HasSubstr("\n1 schedules"))) << "it waited for the run";
}

}  // namespace
}  // namespace simmesh
