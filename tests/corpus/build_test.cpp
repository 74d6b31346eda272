#include "corpus/build.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <set>

#include "base/error.h"
#include "base/fingerprint.h"
#include "corpus/locked_split.h"
#include "corpus/pack.h"
#include "corpus/text_store.h"
#include "tests/corpus/sample_corpus.h"

namespace windtunnel::corpus {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CorpusManifest build(const CorpusRecipe& recipe, const ScratchFolder& scratch,
                     const BuildProgress& progress = {}) {
  return build_corpus(recipe, scratch / "corpus", scratch / "cache", progress);
}

std::vector<std::string> texts_of(const ScratchFolder& scratch, Split split) {
  const TokenStream tokens(scratch / "corpus", split, true);
  const Tokenizer tokenizer = Tokenizer::load(scratch / "corpus" / "tokenizer.json");
  std::vector<std::string> texts;
  for (int64_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == tokenizer.begin_of_document()) texts.emplace_back();
    texts.back() += tokenizer.token_bytes(tokens[i]);
  }
  return texts;
}

int64_t documents_of(const CorpusManifest& manifest) {
  return manifest.train.documents + manifest.validation.documents +
         (manifest.locked ? manifest.locked->documents : 0);
}

TEST(BuildCorpus, EveryDocumentIsInExactlyOneSplit) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 40);
  const CorpusManifest manifest = build(sample_recipe(scratch), scratch);
  std::multiset<std::string> packed;
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kLocked}) {
    for (const std::string& text : texts_of(scratch, split)) packed.insert(text);
  }
  std::multiset<std::string> expected;
  for (size_t i = 0; i < 40; ++i) expected.insert(sample_text(i, 100));
  EXPECT_EQ(packed, expected);
  EXPECT_EQ(documents_of(manifest), 40);
  EXPECT_GT(manifest.validation.documents, 0);
}

TEST(BuildCorpus, ValidationTextHasTheBytesOfTheValidationTokens) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 40);
  scratch.write("texts/binary.bin", std::string("\xFF\x00\xFE not UTF-8 \xE9\xA2", 16));
  CorpusRecipe recipe = sample_recipe(scratch);
  recipe.validation_fraction = 0.9;
  const CorpusManifest manifest = build(recipe, scratch);
  std::string all;
  for (const std::string& text : texts_of(scratch, Split::kValidation)) all += text;
  EXPECT_EQ(all, base::read_file(scratch / "corpus/validation.text"));
  EXPECT_EQ(static_cast<int64_t>(all.size()), manifest.validation.bytes);
  EXPECT_EQ(base::sha256(all), manifest.validation_text_sha256);
}

TEST(BuildCorpus, ExactDuplicatesAreKeptOnce) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 10);
  scratch.write("texts/copy.txt", sample_text(3, 100));
  const CorpusManifest manifest = build(sample_recipe(scratch), scratch);
  EXPECT_EQ(documents_of(manifest), 10);
}

TEST(BuildCorpus, CompressedFilesAreReadAsTheirContent) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 5);
  const std::string text = sample_text(77, 500);
  const gzFile file = gzopen((scratch / "texts/packed.txt.gz").c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  build(sample_recipe(scratch), scratch);
  std::vector<std::string> texts = texts_of(scratch, Split::kTrain);
  for (std::string& held_out : texts_of(scratch, Split::kValidation)) texts.push_back(held_out);
  EXPECT_THAT(texts, testing::Contains(text));

  const std::string whole = base::read_file(scratch / "texts/packed.txt.gz");
  scratch.write("texts/packed.txt.gz", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(error_of([&] { build(sample_recipe(scratch), scratch); }),
              HasSubstr("packed.txt.gz is not a whole gzip file"));
}

TEST(BuildCorpus, TheSameSourcesReturnAtOnceAndAChangeBuildsAgain) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 20);
  const CorpusRecipe recipe = sample_recipe(scratch);
  std::set<std::string> phases;
  const BuildProgress record = [&](const std::string& phase, double fraction, const std::string&) {
    EXPECT_GE(fraction, 0);
    EXPECT_LE(fraction, 1);
    phases.insert(phase);
  };
  const std::string first = build(recipe, scratch, record).fingerprint();
  EXPECT_EQ(phases, (std::set<std::string>{"extract", "tokenizer", "pack"}));
  phases.clear();
  EXPECT_EQ(build(recipe, scratch, record).fingerprint(), first);
  EXPECT_TRUE(phases.empty());

  scratch.write("texts/new.txt", sample_text(100, 100));
  EXPECT_NE(build(recipe, scratch).fingerprint(), first);
  fs::remove(scratch / "texts/new.txt");
  EXPECT_EQ(build(recipe, scratch).fingerprint(), first);

  CorpusRecipe larger = recipe;
  larger.vocabulary_size = 310;
  EXPECT_EQ(build(larger, scratch).vocabulary_size, 310);
}

TEST(BuildCorpus, StoppedInAnyPhaseItContinuesToTheSameCorpus) {
  const ScratchFolder whole;
  write_sample_texts(whole, 30);
  const std::string expected = build(sample_recipe(whole), whole).fingerprint();
  for (const std::string stop_in : {"extract", "tokenizer", "pack"}) {
    const ScratchFolder scratch;
    const CorpusRecipe recipe = sample_recipe(whole);
    const BuildProgress stop = [&](const std::string& phase, double fraction, const std::string&) {
      if (phase == stop_in && fraction > 0.5) throw base::Interrupted();
    };
    EXPECT_THAT(error_of([&] { build(recipe, scratch, stop); }), HasSubstr("interrupted"));
    EXPECT_THAT(error_of([&] { read_manifest(scratch / "corpus"); }),
                HasSubstr("holds no complete corpus"));
    // What a kill leaves behind.
    scratch.write("corpus/train-00000.tokens.tmp-99", "half");
    scratch.write("corpus/work/source-0.tmp-99/texts", "half");
    EXPECT_EQ(build(recipe, scratch).fingerprint(), expected);
    for (const auto& entry : fs::directory_iterator(scratch / "corpus")) {
      EXPECT_THAT(entry.path().filename().string(),
                  testing::AllOf(testing::Not(HasSubstr(".tmp-")), testing::Ne("work")));
    }
  }
}

TEST(BuildCorpus, ADamagedShardIsBuiltAgain) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 20);
  const std::string first = build(sample_recipe(scratch), scratch).fingerprint();
  fs::resize_file(scratch / "corpus/train-00000.tokens", 100);
  std::string said;
  const BuildProgress listen = [&](const std::string&, double, const std::string& detail) {
    if (said.empty()) said = detail;
  };
  EXPECT_EQ(build(sample_recipe(scratch), scratch, listen).fingerprint(), first);
  EXPECT_THAT(said, HasSubstr("building again: "));
  EXPECT_THAT(said, HasSubstr("train-00000.tokens has 100 bytes"));
}

TEST(BuildCorpus, AFolderStandsForAllFilesBelowIt) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 10);
  CorpusRecipe recipe = sample_recipe(scratch);
  recipe.sources[0].files = {(scratch / "texts").string(), "!" + (scratch / "texts/3*").string()};
  const CorpusManifest manifest = build(recipe, scratch);
  EXPECT_EQ(documents_of(manifest), 9);
}

TEST(BuildCorpus, NoTextIsSaidPlainly) {
  const ScratchFolder scratch;
  fs::create_directories(scratch / "texts");
  const std::string pattern = (scratch / "texts/**").string();
  EXPECT_EQ(error_of([&] { build(sample_recipe(scratch), scratch); }),
            "no file matches " + pattern + "; check the patterns ('**' stands for any folders)");
  scratch.write("texts/a.txt", " \n");
  EXPECT_EQ(error_of([&] { build(sample_recipe(scratch), scratch); }),
            "1 files match " + pattern +
                ", but they hold no text for the extractor 'plain'; a corpus needs text");
  scratch.write("texts/b.txt", sample_text(1, 500));
  EXPECT_THAT(error_of([&] { build(sample_recipe(scratch), scratch); }),
              HasSubstr("has only one document, so that nothing can be held out for validation; "
                        "give at least two files"));
}

TEST(BuildCorpus, AWrongRecipeNamesEveryProblem) {
  CorpusRecipe recipe = recipe_for_files({});
  recipe.sources[0].extractor = "word";
  recipe.validation_fraction = 0.5;
  const ScratchFolder scratch;
  const std::string error = error_of([&] { build(recipe, scratch); });
  EXPECT_THAT(error, HasSubstr("sources.0.files = []: needs at least one glob pattern"));
  EXPECT_THAT(error, HasSubstr("sources.0.extractor = \"word\": must be one of dict, html, plain, "
                               "pod, rst"));
}

TEST(BuildCorpus, WithoutAptItPointsToOwnFiles) {
  const ScratchFolder scratch;
  CorpusRecipe recipe = recipe_for_files({"usr/**"});
  recipe.sources[0].package = "some-doc";
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (scratch / "empty").c_str(), 1);
  const std::string error = error_of([&] { build(recipe, scratch); });
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(error,
            "apt-get is not on this machine, so the package some-doc cannot be fetched; your own "
            "text needs no apt: windtunnel corpus --files 'notes/**/*.txt'");
}

TEST(BuildCorpus, TheLockedSplitLiesInAFolderOfItsOwn) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 40);
  const CorpusManifest manifest = build(sample_recipe(scratch), scratch);
  ASSERT_TRUE(manifest.locked);
  EXPECT_GE(manifest.locked->documents, 1);
  EXPECT_EQ(manifest.locked->shards[0].file, "locked/locked-00000.tokens");
  std::string all;
  for (const std::string& text : texts_of(scratch, Split::kLocked)) all += text;
  EXPECT_EQ(all, base::read_file(scratch / "corpus/locked/locked.text"));
  EXPECT_EQ(base::sha256(all), manifest.locked_text_sha256);
  base::write_file_atomic(scratch / "corpus/locked/locked.text", "other");
  std::string said;
  build(sample_recipe(scratch), scratch,
        [&](const std::string&, double, const std::string& detail) { said += detail; });
  EXPECT_THAT(said, HasSubstr("locked.text has changed"));
}

TEST(BuildCorpus, TwoDocumentsLeaveNoneToLockAndThatIsSaidWhenItIsAskedFor) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 2);
  const CorpusManifest manifest = build(sample_recipe(scratch), scratch);
  EXPECT_FALSE(manifest.locked);
  EXPECT_THAT(error_of([&] { TokenStream(scratch / "corpus", Split::kLocked); }),
              AllOf(HasSubstr("has no locked split"), HasSubstr("fewer than three documents"),
                    HasSubstr("build it again with windtunnel corpus")));
}

TEST(LockedSplit, EveryAccessIsCountedWithWhoAskedAndWhen) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 40);
  build(sample_recipe(scratch), scratch);
  EXPECT_THAT(locked_accesses(scratch / "corpus"), IsEmpty());
  EXPECT_EQ(count_locked_access(scratch / "corpus", "somebody", "night/e1-s1"), 1);
  EXPECT_EQ(count_locked_access(scratch / "corpus", "somebody else", "night/e2-s1"), 2);
  const auto accesses = locked_accesses(scratch / "corpus");
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[0].who, "somebody");
  EXPECT_EQ(accesses[1].run, "night/e2-s1");
  EXPECT_EQ(accesses[0].at.size(), std::string("2026-01-31T12:34:56Z").size());
}

TEST(LockedSplit, AnotherTextStartsFromNone) {
  const ScratchFolder scratch;
  write_sample_texts(scratch, 40);
  build(sample_recipe(scratch), scratch);
  count_locked_access(scratch / "corpus", "somebody", "run");
  CorpusManifest manifest = read_manifest(scratch / "corpus");
  manifest.locked_text_sha256 = "of another text";
  base::write_json(scratch / "corpus/manifest.json", base::to_json(manifest));
  EXPECT_THAT(locked_accesses(scratch / "corpus"), IsEmpty());
}

TEST(PlanSplits, LockedDocumentsAreChosenByTheirHashAndOutOfTraining) {
  const ScratchFolder scratch;
  TextWriter writer(scratch / "source-0");
  for (uint64_t i = 0; i < 400; ++i) writer.add(sample_text(i, 50), std::to_string(i));
  writer.finish();
  const TextStore store({scratch / "source-0"});
  CorpusRecipe recipe = recipe_for_files({"x"});
  recipe.validation_fraction = 0.1;
  recipe.locked_fraction = 0;
  const SplitPlan without = plan_splits(store.documents(), recipe);
  EXPECT_TRUE(without.locked.empty());
  recipe.locked_fraction = 0.1;
  const SplitPlan plan = plan_splits(store.documents(), recipe);
  EXPECT_EQ(plan.validation.size(), without.validation.size());
  EXPECT_EQ(plan.train.size() + plan.locked.size(), without.train.size());
  // 40 expected, standard deviation 6.
  EXPECT_GT(plan.locked.size(), 20u);
  EXPECT_LT(plan.locked.size(), 60u);
  recipe.max_locked_bytes = 10;
  EXPECT_THAT(error_of([&] { plan_splits(store.documents(), recipe); }),
              HasSubstr("max_locked_bytes = 10 is less than any locked document has"));
}

TEST(PlanSplits, PartsOfOneTextNeverStraddle) {
  const ScratchFolder scratch;
  TextWriter writer(scratch / "source-0");
  for (uint64_t i = 0; i < 12; ++i) writer.add(sample_text(i, 40'000), std::to_string(i));
  writer.finish();
  const TextStore store({scratch / "source-0"});
  EXPECT_GT(store.documents().size(), 30u);
  CorpusRecipe recipe = recipe_for_files({"x"});
  recipe.validation_fraction = 0.4;
  const SplitPlan plan = plan_splits(store.documents(), recipe);
  std::set<std::string> train_files;
  for (const Document& document : plan.train) train_files.insert(document.file);
  std::set<std::string> locked_files;
  for (const Document& document : plan.locked) {
    EXPECT_EQ(train_files.count(document.file), 0u);
    locked_files.insert(document.file);
  }
  EXPECT_FALSE(locked_files.empty());
  for (const Document& document : plan.validation) {
    EXPECT_EQ(train_files.count(document.file) + locked_files.count(document.file), 0u);
  }
}

TEST(PlanSplits, LimitKeepsWholeDocumentsAndLeavesTheRestOutOfTraining) {
  const ScratchFolder scratch;
  TextWriter writer(scratch / "source-0");
  for (uint64_t i = 0; i < 100; ++i) writer.add(sample_text(i, 100), "");
  writer.finish();
  const TextStore store({scratch / "source-0"});
  CorpusRecipe recipe = recipe_for_files({"x"});
  recipe.validation_fraction = 0.5;
  const size_t without_limit = plan_splits(store.documents(), recipe).train.size();
  recipe.max_validation_bytes = 3000;
  const SplitPlan plan = plan_splits(store.documents(), recipe);
  EXPECT_EQ(plan.train.size(), without_limit);
  size_t bytes = 0;
  for (const Document& document : plan.validation) bytes += document.text.size();
  EXPECT_LE(bytes, 3000u);
  EXPECT_GT(bytes, 2000u);
  recipe.max_validation_bytes = 10;
  EXPECT_THAT(error_of([&] { plan_splits(store.documents(), recipe); }),
              HasSubstr("max_validation_bytes = 10 is less than any held-out document has"));
}

TEST(CutAtParagraphs, PrefersBlankLinesThenLinesThenCharacters) {
  EXPECT_THAT(cut_at_paragraphs("one\n\ntwo\nthree", 9), ElementsAre("one\n\n", "two\nthree"));
  EXPECT_THAT(cut_at_paragraphs("one\ntwo", 5), ElementsAre("one\n", "two"));
  EXPECT_THAT(cut_at_paragraphs("\u98A8\u6D1E", 4), ElementsAre("\u98A8", "\u6D1E"));
  EXPECT_THAT(cut_at_paragraphs("\x80\x80\x80\x80\x80", 4),
              ElementsAre("\x80\x80\x80\x80", "\x80"));
  EXPECT_THAT(cut_at_paragraphs("", 4), ElementsAre());
}

}  // namespace
}  // namespace windtunnel::corpus
