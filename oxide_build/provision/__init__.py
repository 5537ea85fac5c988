"""Find or fetch tools: rustup, apt, pypi and what the system has."""
