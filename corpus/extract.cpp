#include "corpus/extract.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "corpus/extractor.h"
#include "corpus/gzip.h"
#include "corpus/parallel.h"
#include "corpus/text_store.h"

namespace windtunnel::corpus {
namespace fs = std::filesystem;
namespace {

/// Sources that share one unpacked package, or a single source of local files.
struct Job {
  std::string package;
  std::vector<size_t> sources;
  /// Share of the whole work, by bytes on disk.
  double weight = 1;
};

std::vector<Job> jobs_of(const CorpusRecipe& recipe, const std::map<std::string, fs::path>& debs) {
  std::vector<Job> jobs;
  for (size_t i = 0; i < recipe.sources.size(); ++i) {
    const std::string& package = recipe.sources[i].package;
    const auto same = std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) {
      return !package.empty() && job.package == package;
    });
    if (same != jobs.end()) {
      same->sources.push_back(i);
    } else {
      const double weight =
          package.empty() ? 1e7 : static_cast<double>(fs::file_size(debs.at(package)));
      jobs.push_back({package, {i}, weight});
    }
  }
  // The largest first, so that no thread ends long after the others.
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.weight > b.weight; });
  return jobs;
}

std::string name_of(const CorpusRecipe& recipe, size_t index) {
  const SourceConfig& source = recipe.sources[index];
  return source.package.empty() ? base::join(source.files, ", ") : "package " + source.package;
}

class Extraction {
 public:
  Extraction(const CorpusRecipe& recipe, const fs::path& work, const PhaseProgress& progress)
      : recipe_(recipe), work_(work), progress_(progress) {}

  fs::path folder_of(size_t source) const { return work_ / ("source-" + std::to_string(source)); }

  void run(const Job& job, const fs::path& deb, double share) {
    std::vector<size_t> open;
    for (const size_t source : job.sources) {
      if (!fs::exists(folder_of(source))) open.push_back(source);
    }
    fs::path root;
    if (!job.package.empty() && !open.empty()) {
      root = base::temporary_name(work_ / ("unpacked-" + job.package));
      unpack_package(deb, root);
    }
    for (const size_t source : open) {
      extract(source, root, share / static_cast<double>(job.sources.size()));
    }
    const auto skipped = static_cast<double>(job.sources.size() - open.size());
    advance(share * skipped / static_cast<double>(job.sources.size()), 0);
    if (!root.empty()) fs::remove_all(root);
  }

 private:
  void extract(size_t index, const fs::path& root, double share) {
    const SourceConfig& source = recipe_.sources[index];
    const Extractor& extractor =
        ExtractorRegistry::instance().get(source.extractor, "extractor").entry;
    const std::vector<fs::path> files = source_files(source, root);
    if (files.empty()) {
      throw base::Error("no file matches " + base::join(source.files, ", ") +
                        (source.package.empty() ? "" : " in package " + source.package) +
                        "; check the patterns ('**' stands for any folders)");
    }
    TextWriter writer(folder_of(index));
    for (const fs::path& file : files) {
      base::stop_if_interrupted();
      const int64_t before = writer.bytes();
      const std::string name =
          root.empty() ? file.string() : file.lexically_relative(root).string();
      for (const std::string& text : extractor.documents(read_source_file(file))) {
        writer.add(text, name);
      }
      advance(share / static_cast<double>(files.size()), writer.bytes() - before);
    }
    if (writer.bytes() == 0) {
      throw base::Error(std::to_string(files.size()) + " files match " + name_of(recipe_, index) +
                        ", but they hold no text for the extractor '" + source.extractor +
                        "'; a corpus needs text");
    }
    writer.finish();
  }

  void advance(double share, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    fraction_ += share;
    bytes_ += bytes;
    progress_(std::min(1.0, fraction_),
              base::format_number(static_cast<double>(bytes_) / 1e6, 3) + " MB of text");
  }

  const CorpusRecipe& recipe_;
  fs::path work_;
  const PhaseProgress& progress_;
  std::mutex mutex_;
  double fraction_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace

std::vector<fs::path> source_files(const SourceConfig& source, const fs::path& root) {
  std::set<fs::path> files;
  for (std::string pattern : source.files) {
    const bool excludes = pattern.rfind('!', 0) == 0;
    if (excludes) pattern.erase(0, 1);
    if (!root.empty()) pattern = (root / pattern).string();
    if (fs::is_directory(pattern)) pattern = (fs::path(pattern) / "**").string();
    for (const fs::path& file : base::glob(pattern)) {
      if (excludes) {
        files.erase(file);
      } else {
        files.insert(file);
      }
    }
  }
  return {files.begin(), files.end()};
}

std::vector<fs::path> extract_sources(const CorpusRecipe& recipe,
                                      const std::map<std::string, fs::path>& debs,
                                      const fs::path& work, const PhaseProgress& progress) {
  const std::vector<Job> jobs = jobs_of(recipe, debs);
  double total = 0;
  for (const Job& job : jobs) total += job.weight;
  Extraction extraction(recipe, work, progress);
  parallel_for(jobs.size(), [&](size_t index, size_t) {
    const Job& job = jobs[index];
    const fs::path deb = job.package.empty() ? fs::path() : debs.at(job.package);
    extraction.run(job, deb, job.weight / total);
  });
  std::vector<fs::path> folders;
  for (size_t i = 0; i < recipe.sources.size(); ++i) folders.push_back(extraction.folder_of(i));
  return folders;
}

}  // namespace windtunnel::corpus
