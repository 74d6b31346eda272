// The files of a report, end to end from a journal.

#include "report/report.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <regex>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "report/figures/gnuplot.h"
#include "study/journal.h"
#include "tests/report/sample_study.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::report {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using tests::TemporaryFolder;

constexpr const char* kDocuments[] = {"research_log.md", "results.tsv", "leaderboard.md",
                                      "report.html"};

/// The complete sample, written once for all tests of this file.
const fs::path& complete_report() {
  static const TemporaryFolder folder;
  static const fs::path study = [] {
    const fs::path path = folder.path() / "demo";
    write_sample_study(path);
    write_report(path);
    return path;
  }();
  return study;
}

std::vector<std::vector<std::string>> tsv_rows(const fs::path& study) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& line : base::split(base::read_file(study / "results.tsv"), '\n')) {
    if (!line.empty()) rows.push_back(base::split(line, '\t'));
  }
  return rows;
}

/// Without printing the page when it fails.
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Report, EveryFileIsThere) {
  for (const char* name : kDocuments) {
    EXPECT_TRUE(fs::exists(complete_report() / name)) << name;
  }
  for (const std::string& name : FigureRegistry::instance().names()) {
    EXPECT_TRUE(fs::exists(complete_report() / "figures" / (name + ".svg"))) << name;
    EXPECT_TRUE(fs::exists(complete_report() / "figures" / (name + ".gp"))) << name;
    EXPECT_FALSE(fs::exists(complete_report() / "figures" / (name + "_narrow.svg"))) << name;
  }
}

TEST(Report, FiguresAreThoseOfTheDesign) {
  EXPECT_THAT(FigureRegistry::instance().names(),
              ElementsAre("gains", "loss_curves", "phases", "predictions", "router_health",
                          "scaling", "staircase"));
}

TEST(ResultsTsv, StartsWithTheColumnsOfAutoresearch) {
  const auto rows = tsv_rows(complete_report());
  ASSERT_EQ(rows.size(), 13u);  // heading, baseline, eleven experiments
  const std::vector<std::string> first(rows[0].begin(), rows[0].begin() + 5);
  EXPECT_THAT(first, ElementsAre("commit", "val_bpb", "memory_gb", "status", "description"));
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
}

TEST(ResultsTsv, AMissingValueIsEmptyAndNeverZero) {
  EXPECT_THAT(base::read_file(complete_report() / "results.tsv"), Not(HasSubstr("0.000000")));
  const auto rows = tsv_rows(complete_report());
  EXPECT_EQ(rows[7][1], "");  // experiment 6 diverged
  EXPECT_EQ(rows[7][3], "crash");
  EXPECT_EQ(rows[9][0], "");  // experiment 8 was vetoed and never ran
  EXPECT_EQ(rows[9][3], "discard");
  EXPECT_EQ(rows[1][4], "baseline");
}

TEST(Leaderboard, HasTheBaselineAndTheKeptExperiments) {
  const std::string text = base::read_file(complete_report() / "leaderboard.md");
  EXPECT_THAT(text, HasSubstr("| 0 | 2.9"));
  for (const char* row : {"\n| 1 |", "\n| 5 |", "\n| 9 |"}) EXPECT_THAT(text, HasSubstr(row));
  EXPECT_THAT(text, Not(HasSubstr("\n| 2 |")));
}

TEST(ResearchLog, EveryEntryHasItsEightParts) {
  const std::string text = base::read_file(complete_report() / "research_log.md");
  for (const char* part : {"Hypothesis.", "Prediction.", "Diagnostic.", "Observed.",
                           "Interpretation.", "Agreement.", "Decision.", "Next."}) {
    size_t found = 0;
    const std::string title = std::string("**") + part + "**";
    for (size_t at = 0; (at = text.find(title, at)) != std::string::npos; ++at) ++found;
    EXPECT_EQ(found, 11u) << part;
  }
}

TEST(Page, UntrustedTextIsEscaped) {
  const std::string html = base::read_file(complete_report() / "report.html");
  EXPECT_FALSE(has(html, "<script"));
  EXPECT_FALSE(has(html, "<b>stopped"));
  EXPECT_FALSE(has(html, "<strong>much"));
  EXPECT_TRUE(has(html, "&lt;script&gt;alert")) << "&lt;script&gt;alert";
}

TEST(Page, LoadsNothingFromAnywhere) {
  const std::string html = base::read_file(complete_report() / "report.html");
  for (const char* way : {"<img", "<link", "<iframe", "<object", "@import", "url(http",
                          "src=", "xmlns", "href=\"http", "href='http"}) {
    EXPECT_FALSE(has(html, way)) << way;
  }
  EXPECT_TRUE(has(html, "default-src 'none'"));
}

TEST(Page, DrawingsAreInlineNamedAndFollowThePalette) {
  const std::string html = base::read_file(complete_report() / "report.html");
  for (const std::string& name : FigureRegistry::instance().names()) {
    EXPECT_TRUE(has(html, "aria-labelledby=\"" + name + "-title " + name + "-text\""));
    EXPECT_TRUE(has(html, "aria-labelledby=\"" + name + "_narrow-title"));
  }
  // A colour that is not of the palette would not follow dark mode.
  EXPECT_FALSE(std::regex_search(html, std::regex("(fill|stroke|color)=['\"](rgb|#)")));
}

TEST(Page, IdsAreUnique) {
  const std::string html = base::read_file(complete_report() / "report.html");
  std::map<std::string, int> ids;
  const std::regex id(" id=['\"]([^'\"]+)['\"]");
  for (std::sregex_iterator at(html.begin(), html.end(), id), end; at != end; ++at) {
    EXPECT_EQ(++ids[(*at)[1]], 1) << (*at)[1];
  }
}

TEST(Report, AHalfFinishedStudyIsReportedToo) {
  const TemporaryFolder folder;
  const fs::path study = folder.path() / "half";
  write_sample_study(study, {.experiments = 5, .is_half_way = true, .has_ladder = false});
  write_report(study);
  EXPECT_TRUE(has(base::read_file(study / "report.html"), "1 still open"));
  EXPECT_EQ(tsv_rows(study).back()[3], "pending");
  EXPECT_FALSE(fs::exists(study / "figures/scaling.svg"));
}

TEST(Report, AnEmptyStudyIsReportedToo) {
  const TemporaryFolder folder;
  { const study::Journal journal(folder.path() / "journal.db"); }
  write_report(folder.path());
  EXPECT_TRUE(
      has(base::read_file(folder.path() / "report.html"), "No experiment has been proposed yet."))
      << "No experiment has been proposed yet.";
  EXPECT_TRUE(
      has(base::read_file(folder.path() / "leaderboard.md"), "No baseline run has finished yet."))
      << "No baseline run has finished yet.";
}

TEST(Report, WithoutGnuplotThePageSaysHowToGetFigures) {
  const TemporaryFolder folder;
  const fs::path study = folder.path() / "plain";
  write_sample_study(study, {.experiments = 2});
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  write_report(study);
  ::setenv("PATH", path.c_str(), 1);
  const std::string html = base::read_file(study / "report.html");
  EXPECT_TRUE(has(html, "gnuplot was not found"));
  EXPECT_TRUE(has(html, "Experiments in the order"));
}

TEST(Report, WithoutAJournalItSaysSo) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_report(folder.path() / "absent"), base::Error);
}

TEST(Gnuplot, TextIsTakenLiterally) {
  EXPECT_EQ(gnuplot_text("it's `rm`\n"), "'it''s `rm`'");
  DataBlock block("d");
  block.add({1.5, std::nullopt}, "a \"b\"\nEOD");
  EXPECT_EQ(block.text(), "$d << EOD\n1.5 NaN \"a 'b' EOD\"\nEOD\n");
}

}  // namespace
}  // namespace windtunnel::report
