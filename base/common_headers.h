#pragma once
// Precompiled for every file that does not see LibTorch. A header belongs here if most files want
// it and it seldom changes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
