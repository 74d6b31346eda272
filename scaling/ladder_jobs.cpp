#include "scaling/ladder_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/text.h"

namespace windtunnel::scaling {
namespace fs = std::filesystem;
namespace {

using base::Error;
using base::Json;

constexpr const char* kJobsFact = "ladder.jobs";
constexpr const char* kPurpose = "ladder";
/// What a scheduler may take longer than expected before it ends a job, which then goes on from its
/// checkpoint when it is submitted again.
constexpr double kTimeMargin = 3;
constexpr double kStartSeconds = 600;
/// The estimate counts tensors; libraries and buffers come on top.
constexpr double kMemoryMargin = 1.5;
constexpr double kMemoryOfProgram = 2e9;

std::optional<fs::path> jobs_folder(const study::Journal& journal) {
  const auto fact = journal.fact(kJobsFact);
  if (!fact) return std::nullopt;
  return fs::path(fact->at("folder").get<std::string>());
}

fs::path run_folder_of_job(const fs::path& folder, const std::string& id) {
  return folder / id / "runs" / id;
}

/// Checkpoints stay with the job: they are large, and no one reads them from the study.
void copy_small_files(const fs::path& from, const fs::path& to, const study::RunRecord& record) {
  base::write_folder_atomic(to, [&](const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(from)) {
      if (entry.is_regular_file()) fs::copy_file(entry.path(), folder / entry.path().filename());
    }
    base::write_json(folder / "record.json", base::to_json(record));
  });
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text)
    result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

/// The largest of what its runs ask for: one array has one set of limits.
std::string slurm_lines(const LadderPlan& plan, const std::vector<const LadderRun*>& runs,
                        const fs::path& folder) {
  double bytes = 0;
  double seconds = 0;
  bool uses_gpu = false;
  int threads = 1;
  for (const LadderRun* run : runs) {
    uses_gpu |= run->config.train.device == "cuda";
    threads = std::max(threads, run->config.train.threads);
    for (const PlannedRung& rung : plan.rungs) {
      if (rung.name != run->rung) continue;
      bytes = std::max(bytes, rung.peak_memory_bytes);
      seconds = std::max(seconds, rung.expected_seconds.value_or(0));
    }
  }
  std::string lines = fmt::format(
      "#SBATCH --job-name=ladder\n#SBATCH --array=0-{}\n#SBATCH --cpus-per-task={}\n"
      "#SBATCH --requeue\n#SBATCH --output={}/%x-%A-%a.log\n",
      runs.size() - 1, threads, folder.string());
  if (uses_gpu) {
    lines += "#SBATCH --gres=gpu:1\n";
  } else {
    lines += fmt::format("#SBATCH --mem={}M\n",
                         std::llround(std::ceil((bytes * kMemoryMargin + kMemoryOfProgram) / 1e6)));
  }
  if (seconds > 0) {
    lines += fmt::format(
        "# {} times what the largest is expected to take, at {} FLOP/s, {} {}.\n"
        "#SBATCH --time={}\n",
        base::format_number(kTimeMargin), base::format_number(plan.speed->flops_per_second, 3),
        plan.speed->is_measured ? "measured on" : "assumed", plan.speed->source,
        std::llround(std::ceil((seconds * kTimeMargin + kStartSeconds) / 60)));
  }
  return lines;
}

std::string script_text(const LadderPlan& plan, const std::vector<const LadderRun*>& runs,
                        const fs::path& folder, const fs::path& program) {
  std::string list;
  for (const LadderRun* run : runs) list += "  " + quoted(run->id) + "\n";
  return "#!/bin/bash\n"
         "# One task of the array is one run:  sbatch array.sh\n"
         "# Without Slurm, one after another:  bash array.sh\n" +
         slurm_lines(plan, runs, folder) +
         "\nset -euo pipefail\nfolder=" + quoted(folder.string()) +
         "\nwindtunnel=" + quoted(program.string()) + "\nruns=(\n" + list +
         ")\n"
         "run() { \"$windtunnel\" run \"$folder/$1/config.json\" --study \"$folder/$1\" --name "
         "\"$1\"; }\n"
         "if [ -n \"${SLURM_ARRAY_TASK_ID:-}\" ]; then\n"
         "  run \"${runs[$SLURM_ARRAY_TASK_ID]}\"\n"
         "else\n"
         "  failed=0\n"
         "  for id in \"${runs[@]}\"; do run \"$id\" || failed=1; done\n"
         "  exit $failed\n"
         "fi\n";
}

void remember_folder(study::Journal& journal, const fs::path& folder) {
  const auto known = jobs_folder(journal);
  if (known && *known != folder && fs::exists(*known)) {
    throw Error("the jobs of this study are in " + known->string() +
                "; write them there again, or remove that folder first");
  }
  if (!known || *known != folder) journal.set_fact(kJobsFact, {{"folder", folder.string()}});
}

}  // namespace

int64_t collect_jobs(const LadderPlan& plan, study::Journal& journal, const fs::path& study) {
  const auto folder = jobs_folder(journal);
  if (!folder || !fs::exists(*folder)) return 0;
  int64_t collected = 0;
  // What ended may have made further runs known, whose jobs may have ended too.
  for (bool has_news = true; has_news;) {
    has_news = false;
    for (const LadderRun& run : ladder_state(plan, records_in(journal)).runs) {
      const auto known = journal.run(run.id);
      if (known && known->record) continue;
      const fs::path from = run_folder_of_job(*folder, run.id);
      std::optional<study::RunRecord> record = study::read_record(from);
      if (!record) continue;
      if (record->seed != run.config.train.seed ||
          record->config_fingerprint != study::config_fingerprint(run.config)) {
        throw Error((from / "record.json").string() +
                    " is of another configuration or seed than the ladder's run " + run.id +
                    "; remove " + (*folder / run.id).string() + " and write the jobs again");
      }
      if (!plan.data_fingerprint.empty()) require_manifest(plan.data_fingerprint, *record);
      record->id = run.id;
      record->purpose = kPurpose;
      copy_small_files(from, study / "runs" / run.id, *record);
      if (!known) journal.intend_run(run.id, kPurpose, std::nullopt, record->seed);
      journal.finish_run(*record);
      has_news = true;
      ++collected;
    }
  }
  return collected;
}

std::vector<std::string> open_jobs(const LadderPlan& plan, const study::Journal& journal) {
  std::vector<std::string> open;
  const auto folder = jobs_folder(journal);
  if (!folder) return open;
  for (const LadderRun& run : ladder_state(plan, records_in(journal)).runs) {
    const auto known = journal.run(run.id);
    if (known && known->record) continue;
    if (fs::exists(*folder / run.id / "config.json")) open.push_back(run.id);
  }
  return open;
}

JobsWritten write_jobs(const LadderPlan& plan, study::Journal& journal, const fs::path& study,
                       const fs::path& folder, const fs::path& program) {
  store_plan(plan, journal);
  remember_folder(journal, folder);
  collect_jobs(plan, journal, study);
  const LadderState state = ladder_state(plan, records_in(journal));
  JobsWritten written{.script = folder / "array.sh"};
  std::vector<const LadderRun*> runs;
  for (const LadderRun& run : state.runs) {
    const auto known = journal.run(run.id);
    if (known && known->record) {
      ++written.ended;
      continue;
    }
    const fs::path config = folder / run.id / "config.json";
    const Json wanted = base::to_json(run.config);
    if (!fs::exists(config)) {
      base::write_json(config, wanted);
    } else if (base::read_json(config) != wanted) {
      throw Error(config.string() + " is a job of another ladder; choose another folder");
    }
    runs.push_back(&run);
    written.runs.push_back(run.id);
  }
  written.waiting = std::count_if(state.rungs.begin(), state.rungs.end(),
                                  [](const RungOutcome& rung) { return rung.state == "waiting"; });
  if (runs.empty()) {
    fs::remove(written.script);
  } else {
    base::write_file_atomic(written.script, script_text(plan, runs, folder, program));
  }
  return written;
}

}  // namespace windtunnel::scaling
