"""What rustc says it read, against what was declared."""

from __future__ import annotations

from oxide_build.execution.dep_info import files_read, undeclared_reads

DEP_INFO = r"""oxide-out/k.bc: a/lib.rs a/my\ data.bin /etc/hostname

oxide-out/k.d: a/lib.rs a/my\ data.bin /etc/hostname

a/lib.rs:
a/my\ data.bin:
/etc/hostname:

# env-dep:HOME
"""


def test_paths_with_spaces_are_one_path() -> None:
    assert files_read(DEP_INFO) == ("a/lib.rs", "a/my data.bin", "/etc/hostname")


def test_an_absolute_read_is_undeclared() -> None:
    declared = {"a/lib.rs", "a/my data.bin"}
    assert undeclared_reads(DEP_INFO, declared, "/tmp/x") == ("/etc/hostname",)


def test_a_path_in_the_actions_own_folder_is_meant_from_it() -> None:
    text = "o: /tmp/x/a/lib.rs a/../a/other.rs\n"
    assert undeclared_reads(text, {"a/lib.rs"}, "/tmp/x") == ("a/other.rs",)


def test_the_toolchains_files_are_no_inputs() -> None:
    assert undeclared_reads("o: toolchain/rust/lib/core.rs\n", set(), "/tmp/x") == ()
