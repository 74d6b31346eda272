#pragma once
// WINDTUNNEL_CLONES compiles a function once for each of AVX-512, AVX2 and the baseline and picks
// at run time. A macro, because an attribute cannot be named otherwise.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WINDTUNNEL_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WINDTUNNEL_CLONES
#endif
