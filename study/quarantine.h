#pragma once
// When a score is not believed.
//
// A score far below what anybody has reached is more likely a fault or a fraud than a discovery,
// and one such score would be the one to beat for the rest of a night. Two limits, both far from
// what honest runs do:
//
//   floor      a quarter of the bits per byte that deflate needs for the same text. Deletang et al.
//              2023, arXiv:2309.10668, table 1: on enwik9 gzip needs 32.3 % of the raw size, and
//              the strongest model there, Chinchilla with 70 billion parameters, 8.3 %, a quarter.
//              Taken relative to deflate, the limit also fits text that is easier than enwik9.
//   one leap   a gain over the best run seen before on the same data, worth more
//              than a millionfold compute: L ~ C^-0.05 (Kaplan et al. 2020, arXiv:2001.08361,
//              equation 1.3), that is half for runs of equal compute (well-chosen rates on easy
//              text gain a third). A run with more compute than the one seen may gain so much more.
//              One that is worse than deflate has hardly begun to learn, and any gain on it is
//              possible.

#include <optional>
#include <string>
#include <vector>

#include "corpus/packed_corpus.h"
#include "study/run_record.h"

namespace windtunnel::study {

/// Bits per byte below which no score over the validation text of a corpus is believed.
/// Errors: Error if its validation text cannot be read.
double lowest_plausible_bits_per_byte(const std::filesystem::path& corpus);

/// The scores a study has believed so far.
class SeenScores {
 public:
  /// Records without a score are not remembered.
  void add(const RunRecord& record);
  /// The lowest score that a run on this data and of this compute may have, by the best of the runs
  /// that scored below `trained`; nullopt: there is none.
  struct Limit {
    double bits_per_byte = 0;
    std::string run;
  };
  std::optional<Limit> limit(const RunRecord& record, double trained) const;

 private:
  struct Score {
    std::string run;
    std::string data;
    double bits_per_byte = 0;
    std::optional<double> flops;
  };
  std::vector<Score> scores_;
};

/// Why the score in `record.evaluation` is not believed, as a sentence, or "": what was scored, the
/// arithmetic, the probes, the two limits. `floor` as lowest_plausible_bits_per_byte gives it.
std::string reason_to_quarantine(const RunRecord& record, const corpus::CorpusManifest& manifest,
                                 double floor, const SeenScores& seen);

}  // namespace windtunnel::study
