"""oxide.toml and BUILD.toml to a graph of validated targets."""
