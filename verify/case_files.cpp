#include "verify/case_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>

#include "core/check/scarcity.h"
#include "verify/json_text.h"

namespace simmesh {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view where = "verify";

std::string read_file(const fs::path& path) {
  std::error_code error;
  std::uintmax_t bytes = fs::file_size(path, error);
  errno = error.value();
  std::ifstream stream(path, std::ios::binary);
  if (error || !stream)
    raise_refused(errno, ErrorKind::value_error, where, "expected a file that can be read, got {}",
                  path.string());
  if (bytes > file_bytes_max)
    raise(ErrorKind::value_error, where, "expected a file of at most {} bytes, got {} of {}",
          file_bytes_max, path.string(), bytes);
  std::string text(bytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(bytes));
  if (stream.gcount() != static_cast<std::streamsize>(bytes))
    raise(ErrorKind::value_error, where, "expected {} bytes in {}, got {}", bytes, path.string(),
          stream.gcount());
  return text;
}

// Returns the files below a folder, sorted by their path from it.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error))
    if (entry->is_regular_file(error) &&
        (entry->path().extension() == ".jsonl" || entry->path().extension() == ".json"))
      files.push_back(entry->path());
  if (error)
    raise_refused(error.value(), ErrorKind::value_error, where,
                  "expected a folder that can be read, got {}", folder.string());
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return a.generic_string() < b.generic_string();
  });
  return files;
}

// A .json file that was found below a folder is a case only if it says so; data files may even be
// broken on purpose.
bool is_data(const fs::path& file, std::string_view text) {
  if (file.extension() != ".json") return false;
  JsonScan scan = scan_json(text);
  auto has = [&](std::string_view key) {
    return std::find(scan.keys.begin(), scan.keys.end(), key) != scan.keys.end();
  };
  if (!scan.ok) return !has("kind");
  return !scan.is_object || !has("kind") || !has("id");
}

class Loader {
 public:
  explicit Loader(const std::function<bool(const RecordedCase&)>& wanted) : wanted_(wanted) {}

  void load(const std::string& name) {
    fs::path path(name);
    std::error_code error;
    fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) {
      for (const fs::path& file : files_below(path)) load_below(file);
    } else if (fs::is_regular_file(status)) {
      if (first_visit(path)) add(cases_from_text(read_file(path), name));
    } else {
      raise(ErrorKind::value_error, where, "expected a file or a folder, got {}: {}", name,
            error ? error.message() : "something else");
    }
  }

  CaseFiles take() {
    if (seen_ == 0)
      raise(ErrorKind::value_error, where, "expected at least one recorded case, got none");
    return std::move(files_);
  }

 private:
  void load_below(const fs::path& file) {
    if (!first_visit(file)) return;
    std::string text = read_file(file);
    if (is_data(file, text)) return;
    std::vector<RecordedCase> cases = cases_from_text(text, file.string());
    if (file.filename() == "disputed.jsonl") {
      seen_ += cases.size();
      files_.disputed_left_out += std::count_if(cases.begin(), cases.end(), wanted_);
      visited_.erase(fs::weakly_canonical(file));
    } else {
      add(std::move(cases));
    }
  }

  void add(std::vector<RecordedCase> cases) {
    seen_ += cases.size();
    for (RecordedCase& recorded : cases)
      if (wanted_(recorded)) files_.cases.push_back(std::move(recorded));
  }

  bool first_visit(const fs::path& path) {
    std::error_code error;
    fs::path canonical = fs::weakly_canonical(path, error);
    return error || visited_.insert(canonical).second;
  }

  const std::function<bool(const RecordedCase&)>& wanted_;
  std::set<fs::path> visited_;
  CaseFiles files_;
  std::size_t seen_ = 0;
};

}  // namespace

std::vector<RecordedCase> cases_from_text(std::string_view text, const std::string& file) {
  std::vector<RecordedCase> cases;
  if (!file.ends_with(".jsonl")) {
    cases.push_back(RecordedCase::parse(text, {.file = file, .line = 1}));
    return cases;
  }
  std::int64_t line = 0;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (row.find_first_not_of(" \t\r") == row.npos) continue;
    cases.push_back(RecordedCase::parse(row, {.file = file, .line = line}));
  }
  if (cases.empty()) throw BadCase(file, "expected at least one case, got an empty file");
  return cases;
}

CaseFiles load_cases(gsl::span<const std::string> paths,
                     const std::function<bool(const RecordedCase&)>& wanted) {
  Loader loader(wanted);
  for (const std::string& path : paths) loader.load(path);
  return loader.take();
}

}  // namespace simmesh
