#pragma once
// Ctrl-C and TERM: the first asks for an orderly stop, which long work checks between saved states;
// the second ends the process at once (which is always safe, only less polite).

namespace windtunnel::base {

/// Installs the handlers; call once at the start of main.
void catch_interrupts();

/// True once a stop was asked for.
bool interrupt_requested();

/// Throws Interrupted if a stop was asked for.
void stop_if_interrupted();

}  // namespace windtunnel::base
