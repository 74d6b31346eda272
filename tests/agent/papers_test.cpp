// Folders of papers: what is read, what is refused, and which papers are nearest to some words.

#include "agent/papers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "agent/paper_ranking.h"
#include "base/error.h"
#include "base/files.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const base::Error& error) {
    return error.what();
  }
  return "no error";
}

class Papers : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    base::write_file_atomic(folder_ / name, text);
  }
  std::string error() {
    return error_of([&] { read_papers(folder_.path()); });
  }

  tests::TemporaryFolder folder_;
};

constexpr const char* kLine =
    R"({"id": "2404.19737", "title": "Better &\n faster", "abstract": "Predict several tokens."})";

TEST_F(Papers, TextBibtexAndMetadataAreReadTogether) {
  write("notes/selective.md", "# Not all tokens\n\nTrain on  the\nhardest ones.\n");
  write("more.bib", "@article{order25, title={Token {O}rder}, abstract={Rank them.}}");
  write("arxiv.jsonl", std::string(kLine) + "\n\n");
  write("figure.png", "");
  const PaperFolder folder = read_papers(folder_.path());
  ASSERT_EQ(folder.papers.size(), 3u);
  EXPECT_EQ(folder.papers[0].key, "2404.19737");
  EXPECT_EQ(folder.papers[0].title, "Better & faster");
  EXPECT_EQ(folder.papers[1].key, "order25");
  EXPECT_EQ(folder.papers[1].title, "Token Order");
  EXPECT_EQ(folder.papers[2].key, "selective");
  EXPECT_EQ(folder.papers[2].title, "Not all tokens");
  EXPECT_EQ(folder.papers[2].text, "Train on the hardest ones.");
  EXPECT_THAT(folder.ignored, ElementsAre(folder_ / "figure.png"));
}

TEST_F(Papers, TheFingerprintFollowsTheText) {
  write("a.txt", "A\nfirst");
  const std::string before = read_papers(folder_.path()).fingerprint();
  EXPECT_EQ(read_papers(folder_.path()).fingerprint(), before);
  write("a.txt", "A\nsecond");
  EXPECT_NE(read_papers(folder_.path()).fingerprint(), before);
}

TEST_F(Papers, AFolderWithoutPapersIsRefusedWithWhatItNeeds) {
  write("figure.png", "");
  EXPECT_THAT(error(), HasSubstr("holds no papers: it needs .txt or .md"));
  EXPECT_THAT(error_of([&] { read_papers(folder_ / "nowhere"); }), HasSubstr("does not exist"));
}

TEST_F(Papers, AFileThatCannotBeReadIsNamed) {
  fs::create_symlink(folder_ / "gone", folder_ / "link.txt");
  EXPECT_THAT(error(), HasSubstr("link.txt"));
}

TEST_F(Papers, OneKeyInTwoFilesIsRefused) {
  write("a.txt", "A\ntext");
  write("b.bib", "@misc{a, title={A}}");
  EXPECT_THAT(error(), HasSubstr("paper 'a' is in"));
  EXPECT_THAT(error(), HasSubstr("a citation must name one paper; remove or rename one"));
}

TEST_F(Papers, BrokenFilesAreNamedWithTheirLine) {
  write("a.jsonl", std::string(kLine) + "\n{\"id\": ");
  EXPECT_THAT(error(), HasSubstr("a.jsonl line 2: is no JSON object"));
  write("a.jsonl", std::string(kLine) + "\n" + R"({"id": "x", "title": "X", "abstract": 3})");
  EXPECT_THAT(error(), HasSubstr("a.jsonl line 2: 'abstract' must be a string"));
  write("a.jsonl", R"({"id": "x", "title": " ", "abstract": "y"})");
  EXPECT_THAT(error(), HasSubstr("a.jsonl line 1: 'title' must be a string that is not empty"));
  write("a.jsonl", kLine);
  write("b.txt", " \n");
  EXPECT_THAT(error(), HasSubstr("b.txt: is empty"));
}

TEST(Bibtex, ValuesMayBeBracedQuotedBareOrJoined) {
  const auto papers = parse_bibtex(R"(
% mail@example.org
@string{icml = "Int. Conf. on {ML}"}
@comment{ @article{no, title={No}} }
@inproceedings{one,
  Title = "Quotes with {"} inside",
  booktitle = icml, year = 2024,
  abstract = {Gains of 5\% for {\'e}tudes, {\bf bold},
    and {nested {braces}}.},
}
@Article(two, title = "On " # icml # { of} , abstract = "A~B")
@misc{three, title={No abstract}}
)",
                                   "x.bib");
  ASSERT_EQ(papers.size(), 3u);
  EXPECT_EQ(papers[0].key, "one");
  EXPECT_EQ(papers[0].title, "Quotes with \" inside");
  EXPECT_EQ(papers[0].text, "Gains of 5% for etudes, bold, and nested braces.");
  EXPECT_EQ(papers[1].title, "On Int. Conf. on ML of");
  EXPECT_EQ(papers[1].text, "A B");
  EXPECT_EQ(papers[2].text, "");
}

TEST(Bibtex, MistakesAreNamedWithTheirLine) {
  const auto error = [](const std::string& text) {
    return error_of([&] { parse_bibtex(text, "x.bib"); });
  };
  EXPECT_EQ(error("\n@article{a, title={A"), "x.bib line 2: no closing '}'");
  EXPECT_EQ(error("@article{a, title}"), "x.bib line 1: expected '='");
  EXPECT_EQ(error("@article{a,\n title={A} year={1}}"),
            "x.bib line 2: expected ',' or the end of entry 'a'");
  EXPECT_EQ(error("@article{, title={A}}"), "x.bib line 1: an entry has no key");
  EXPECT_EQ(error("@article{a, year={1}}"), "x.bib line 1: entry 'a' has no title");
  EXPECT_EQ(error("@article{a, title=}"),
            "x.bib line 1: expected a value in braces, in quotation marks, or a number");
}

std::vector<Paper> small_library() {
  return {{"a", "Token order", "rank the tokens that come"},
          {"b", "Routing", "experts and tokens"},
          {"c", "Curriculum", "short rows first"}};
}

// BM25 by hand: three papers of 7, 4 and 4 terms.
TEST(PaperRanking, ScoresAreBm25) {
  const std::vector<Paper> papers = small_library();
  const PaperRanking ranking(papers);
  const auto scores = ranking.scores("Tokens, experts!");
  const double mean = 15.0 / 3;
  const auto part = [&](double df, double tf, double length) {
    const double idf = std::log(1 + (3 - df + 0.5) / (df + 0.5));
    return idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / mean));
  };
  EXPECT_NEAR(scores[0], part(2, 1, 7), 1e-12);
  EXPECT_NEAR(scores[1], part(2, 1, 4) + part(1, 1, 4), 1e-12);
  EXPECT_EQ(scores[2], 0);
}

TEST(PaperRanking, PapersNotSeenComeFirst) {
  const std::vector<Paper> papers = small_library();
  const PaperRanking ranking(papers);
  EXPECT_THAT(ranking.nearest("experts tokens", {}, 2, 1), ElementsAre(1, 0));
  EXPECT_THAT(ranking.nearest("experts tokens", {"b"}, 3, 1), ElementsAre(0, 2, 1));
  EXPECT_THAT(ranking.nearest("experts tokens", {"a", "b", "c"}, 9, 1), ElementsAre(1, 0, 2));
}

TEST(PaperRanking, EqualsAreDrawnFromTheSeed) {
  std::vector<Paper> papers;
  for (int i = 0; i < 30; ++i) papers.push_back({std::to_string(i), "x", "y"});
  const PaperRanking ranking(papers);
  EXPECT_EQ(ranking.nearest("nothing", {}, 30, 1), ranking.nearest("nothing", {}, 30, 1));
  EXPECT_NE(ranking.nearest("nothing", {}, 30, 1), ranking.nearest("nothing", {}, 30, 2));
}

}  // namespace
}  // namespace windtunnel::agent
