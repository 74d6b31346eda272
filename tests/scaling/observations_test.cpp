#include "scaling/observations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "tests/scaling/synthetic.h"
#include "tests/support/temporary_folder.h"

namespace windtunnel::scaling {
namespace {

using testing::HasSubstr;

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const base::Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<Observation> good_rows() {
  return tests::rows_of({1.5, 1000, 0.25}, 6, 1e11, 1e13, 0.001);
}

std::string refusal(const std::vector<Observation>& rows, const std::string& law = "loss_c") {
  return error_of([&] { require_fittable(rows, law); });
}

Observations read(const std::string& name, const std::string& content, const std::string& map) {
  const tests::TemporaryFolder folder;
  base::write_file_atomic(folder / name, content);
  return read_observations(folder / name, {.map = ColumnMap::parse(map)});
}

TEST(Observations, GoodRowsAreFittable) { EXPECT_EQ(refusal(good_rows()), "no error"); }

TEST(Observations, MixedUnitsAreRefusedWithTheRowsNamed) {
  auto rows = good_rows();
  rows[4].loss_unit = "nats_per_token";
  EXPECT_EQ(refusal(rows),
            "the rows mix units of the loss: bits_per_byte (r0, r1, r2, r3, r5); nats_per_token "
            "(r4); convert them to one");
}

TEST(Observations, MixedFlopConventionsAreRefused) {
  auto rows = good_rows();
  rows[0].flops_convention = convention::kSixND;
  EXPECT_THAT(refusal(rows), HasSubstr("mix ways of counting FLOPs: 6ND (r0); as given (r1"));
}

TEST(Observations, MixedDataAreRefused) {
  auto rows = good_rows();
  for (auto& item : rows) item.data_fingerprint = "aaaa";
  rows[5].data_fingerprint = "bbbb";
  EXPECT_THAT(refusal(rows), HasSubstr("mix data sets: aaaa (r0, r1, r2, r3, r4); bbbb (r5)"));
}

TEST(Observations, NotANumberAndNegativeValuesAreRefused) {
  auto rows = good_rows();
  rows[2].loss = std::nan("");
  EXPECT_EQ(refusal(rows), "r2: loss = nan must be a positive number; correct or remove the row");
  rows[2].loss = -1;
  EXPECT_THAT(refusal(rows), HasSubstr("r2: loss = -1 must be"));
  rows = good_rows();
  rows[1].flops.reset();
  EXPECT_THAT(refusal(rows), HasSubstr("r1 has no C; fill it in"));
}

TEST(Observations, TooFewRowsOrBudgetsAreRefused) {
  auto rows = good_rows();
  rows.resize(3);
  EXPECT_EQ(refusal(rows),
            "law loss_c has 3 parameters and needs 4 rows at 3 different C; there are 3 rows at 3; "
            "add runs or fit a law with fewer parameters");
  EXPECT_EQ(refusal(rows, "power_c"), "no error");
  rows = good_rows();
  for (auto& item : rows) item.flops = 1e12;
  EXPECT_THAT(refusal(rows), HasSubstr("there are 6 rows at 1;"));
  EXPECT_EQ(refusal({}), "there are no rows to fit");
}

TEST(Observations, OneRunTwiceIsRefused) {
  auto rows = good_rows();
  rows[3].name = "r1";
  EXPECT_EQ(refusal(rows),
            "r1 and r1 are the same run; keep one of them, or the fit counts it twice");
  rows = good_rows();
  rows.push_back(rows[2]);
  rows.back().name = "copy";
  EXPECT_THAT(refusal(rows), HasSubstr("r2 and copy are the same run"));
  rows.back().seed = 2;
  EXPECT_EQ(refusal(rows), "no error");
}

TEST(Observations, EqualLossesAreRefused) {
  auto rows = good_rows();
  for (auto& item : rows) item.loss = 2.5;
  EXPECT_EQ(refusal(rows), "all 6 losses equal 2.5; there is no trend to fit");
}

TEST(Observations, FlopsThatContradictSixNDAreRefused) {
  auto rows = good_rows();
  rows[1].parameters_active = 1e4;
  rows[1].tokens = *rows[1].flops / (6 * 1e4) / 3;
  EXPECT_THAT(refusal(rows), HasSubstr("is 3 times 6ND; a factor above 2 means"));
  rows[1].tokens = *rows[1].flops / (6 * 1e4) / 1.5;
  EXPECT_EQ(refusal(rows), "no error");
}

TEST(ObservationsFromRecords, CompletedRunsBecomeRowsAndOthersAreListed) {
  study::RunRecord done;
  done.id = "ladder-w24-s1";
  done.seed = 1;
  done.data_fingerprint = "abc";
  done.parameters_active = 1000;
  done.parameters_total = 3000;
  done.train.outcome = study::outcome::kCompleted;
  done.train.tokens = 20000;
  done.train.epochs = 2;
  done.train.flops_exact = 1.5e8;
  done.evaluation.emplace().bits_per_byte = 2.5;
  done.evaluation->standard_error = 0.03;
  done.evaluation->validation_text_sha256 = "text";
  study::RunRecord failed = done;
  failed.id = "ladder-w32-s1";
  failed.train.outcome = study::outcome::kDiverged;
  const Observations six_nd = observations_from_records({done, failed});
  ASSERT_EQ(six_nd.rows.size(), 1u);
  EXPECT_EQ(six_nd.rows[0].flops, 6.0 * 1000 * 20000);
  EXPECT_EQ(six_nd.rows[0].unique_tokens, 10000.0);
  EXPECT_EQ(six_nd.rows[0].loss, 2.5);
  EXPECT_EQ(six_nd.rows[0].loss_standard_error, 0.03);
  EXPECT_EQ(six_nd.rows[0].scored_text, "text");
  ASSERT_EQ(six_nd.left_out.size(), 1u);
  EXPECT_EQ(six_nd.left_out[0].reason, "diverged");
  EXPECT_EQ(observations_from_records({done}, convention::kExact).rows[0].flops, 1.5e8);
  EXPECT_THAT(observations_table(six_nd), HasSubstr("left out: ladder-w32-s1 (diverged)"));
}

TEST(ObservationsFromFile, CsvWithQuotesAndSpacesIsReadByColumnMap) {
  const Observations table = read("runs.csv",
                                  "run,Model Size,D,loss\r\n\"a, \"\"1\"\"\",1e6,2e7,3.5\r\n\n"
                                  "b,2e6, 4e7 ,\n",
                                  "name=run,N=Model Size,D=D,L=loss");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].name, "a, \"1\"");
  EXPECT_EQ(table.rows[0].flops, 6 * 1e6 * 2e7);
  EXPECT_EQ(table.rows[0].flops_convention, "6ND");
  EXPECT_EQ(table.left_out[0].name, "b");
}

TEST(ObservationsFromFile, JsonLinesWithDifferentKeysAreRead) {
  const Observations table =
      read("runs.jsonl",
           "{\"c\": 1e18, \"l\": 2.0, \"id\": \"a\"}\n\n{\"c\": 2e18, \"l\": "
           "null}\n{\"l\": 1.5, \"c\": 4e18, \"extra\": true}\n",
           "C=c,L=l,name=id");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].name, "a");
  EXPECT_EQ(table.rows[1].name, "row 3 (line 4)");
  EXPECT_EQ(table.rows[1].flops, 4e18);
  EXPECT_EQ(table.rows[1].flops_convention, "as given");
  EXPECT_EQ(table.left_out[0].name + " " + table.left_out[0].reason,
            "row 2 (line 3) has no loss in column l");
}

TEST(ObservationsFromFile, MistakesAreNamedByFileRowAndColumn) {
  const auto message = [](const std::string& content, const std::string& map) {
    return error_of([&] { read("t.csv", content, map); });
  };
  EXPECT_THAT(message("C,loss\n1,2\n", "C=C,L=los"),
              HasSubstr("has no column 'los' (asked for by L=los); did you mean 'loss'? It has: C, "
                        "loss"));
  EXPECT_THAT(message("", "C=C,L=L"), HasSubstr("t.csv is empty"));
  EXPECT_THAT(message("C,L\n", "C=C,L=L"), HasSubstr("has a header but no rows"));
  EXPECT_THAT(message("C,L\n1,2\n3,x4\n", "C=C,L=L"),
              HasSubstr("row 2 (line 3): L = 'x4' is not a number"));
  EXPECT_THAT(message("C,L\n1,2,3\n", "C=C,L=L"),
              HasSubstr("line 2 has 3 cells; the header has 2"));
  EXPECT_THAT(message("C,L\n1,\"2\n", "C=C,L=L"), HasSubstr("line 2: the quote never closes"));
  EXPECT_THAT(error_of([] { read("t.jsonl", "{\"C\": 1}\n[2]\n", "C=C,L=L"); }),
              HasSubstr("t.jsonl line 2 is not a JSON object"));
}

TEST(Observations, TheWorstAreAsManyAsAskedForAlsoWhereTheyTie) {
  Observations table{.rows = good_rows()};
  table.rows[0].loss = table.rows[2].loss = table.rows[5].loss = 9;
  drop_worst(table, 2);
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.left_out[0].name, "r0");
  EXPECT_EQ(table.left_out[1].name, "r2");
  EXPECT_EQ(table.rows.back().name, "r5");
}

TEST(Observations, RunsThatDifferInWhatTheyRepeatedOrInTheirBatchAreTwo) {
  auto rows = good_rows();
  rows.push_back(rows.back());
  rows.back().name = "other";
  EXPECT_THAT(refusal(rows), HasSubstr("are the same run"));
  rows.back().unique_tokens = 1e6;
  EXPECT_EQ(refusal(rows), "no error");
  rows.back().unique_tokens.reset();
  rows.back().batch_tokens = 1e5;
  EXPECT_EQ(refusal(rows), "no error");
}

TEST(ObservationsFromFile, AFilterReadsAColumnWhoseNameIsAKeyThatIsNotMapped) {
  const tests::TemporaryFolder folder;
  base::write_file_atomic(folder / "runs.csv",
                          "c,l,data,lr\n1e18,3,a,0.1\n2e18,2.9,b,0.2\n4e18,2.8,b,0.3\n");
  const auto count = [&](const std::string& where) {
    return read_observations(folder / "runs.csv",
                             {.map = ColumnMap::parse("C=c,L=l"), .where = RowFilter::parse(where)})
        .rows.size();
  };
  EXPECT_EQ(count("data=b"), 2u);
  EXPECT_EQ(count("data!=b"), 1u);
  EXPECT_EQ(count("lr<0.25 and C>1e18"), 1u);
}

TEST(ObservationsFromFile, TwoColumnsOfOneNameAreRefusedWhereTheyAreAskedFor) {
  EXPECT_THAT(error_of([] { read("a.csv", "C,L,L\n1e18,3,4\n", "C=C,L=L"); }),
              HasSubstr("has two columns 'L' (asked for by L=L); rename one"));
}

TEST(ColumnMap, ALawThatDescribesNoLossAsksForWhatItReads) {
  const Law& batches = law_named("batch_d").entry;
  EXPECT_EQ(ColumnMap::parse("B = b, D = d", &batches).columns.at("L"), "b");
  EXPECT_EQ(ColumnMap::parse("B=b,D=d,L=loss", &batches).columns.at("L"), "loss");
  EXPECT_THAT(error_of([&] { ColumnMap::parse("B=b,L=l", &batches); }),
              HasSubstr("has no D=<column>, which a law of B* over D reads"));
  EXPECT_THAT(error_of([&] { ColumnMap::parse("D=d,L=l", &batches); }),
              HasSubstr("has no B=<column>, which is what the law describes"));
}

TEST(ColumnMap, MistakesAreWrongUse) {
  EXPECT_EQ(error_of([] { ColumnMap::parse("N=a,Q=b"); }),
            "column map 'Q=b' must be KEY=COLUMN with KEY one of name, run, arm, size, N, N_total, "
            "N_no_embed, D, D_unique, C, counted, L, unit, se, seed, data, lr, B, tuned, finished");
  EXPECT_EQ(error_of([] { ColumnMap::parse("C=a"); }),
            "column map 'C=a' has no L=<column of the loss>");
  EXPECT_THAT(error_of([] { ColumnMap::parse("N=a,L=b"); }), HasSubstr("or N= and D="));
  EXPECT_EQ(error_of([] { ColumnMap::parse("C=a,L=b,C=c"); }), "column map gives C twice");
}

}  // namespace
}  // namespace windtunnel::scaling
