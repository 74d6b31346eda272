#pragma once
// Precompiled for every file. A header belongs here if most files want it. None of the project's
// own: a compiler cache shares what is precompiled between clones, whose headers are other files.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>
