#pragma once
// Where things are: what a person types as a program, study or run, turned into a path.

#include <filesystem>
#include <optional>
#include <string>

namespace windtunnel::cli {

/// The root of the project: WINDTUNNEL_HOME, or the folder this program was built from.
std::filesystem::path home();

/// "demo" or a path -> programs/demo.md. Errors: UsageError with the programs there are.
std::filesystem::path find_program(const std::string& text);
/// As find_program, but nullopt if there is none.
std::optional<std::filesystem::path> program_file(const std::string& text);
/// "demo, overnight_cpu" or "none".
std::string program_names();

/// "F1" or "presets/F1" -> programs/presets/F1.json, or nullopt if it is not there.
std::optional<std::filesystem::path> preset_file(const std::string& text);
std::string preset_names();
/// Folder of the presets.
std::filesystem::path presets();

/// The folder of a study, whether or not it exists: "demo" -> logs/demo; anything with a '/' is
/// taken as it stands.
std::filesystem::path study_folder(const std::string& text);

/// As study_folder, but it must hold a journal. Errors: UsageError with the studies there are.
std::filesystem::path find_study(const std::string& text);

/// A run folder: a path to one, or "demo/e003-s1" for logs/demo/runs/e003-s1.
/// Errors: UsageError naming what was looked for.
std::filesystem::path find_run(const std::string& text);
/// As find_run, but nullopt if there is none.
std::optional<std::filesystem::path> run_folder(const std::string& text);

/// Folder of downloads that studies share.
std::filesystem::path cache_folder();

}  // namespace windtunnel::cli
