#pragma once
// Everything a study shows to people and programs, from what it stored.

#include <filesystem>

namespace windtunnel::report {

/// Writes research_log.md, results.tsv, leaderboard.md, report.html and figures/ into the study's
/// folder, from journal.db and runs/*/curve.jsonl. Works at any time, half-way through a study too;
/// the journal is only read. Without gnuplot the page has tables and says how to get figures.
///
/// Errors: Error if there is no journal, it is damaged, or a file cannot be written.
void write_report(const std::filesystem::path& study);

}  // namespace windtunnel::report
