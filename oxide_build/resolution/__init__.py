"""Requirements and facts to one toolchain per (kind, arch), or the reasons why none fits."""
