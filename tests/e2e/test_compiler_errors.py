"""What a failing build says, and that failures leave nothing behind."""

from __future__ import annotations

import pytest

from tests.conftest import Space
from tests.e2e.conftest import BUILD, KERNEL

pytestmark = [pytest.mark.network, pytest.mark.toolchain]


def test_the_compilers_words_are_shown_with_the_label(rust_ws: Space) -> None:
    rust_ws.write("k/twice.rs", KERNEL.replace("2.0", "two"))
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 4
    assert "failed: //k:twice compile: `rustc` failed with exit code 1" in ran.stderr
    assert "cannot find value `two` in this scope" in ran.stderr
    assert "--> k/twice.rs:9:" in ran.stderr
    assert str(rust_ws.cache) not in ran.stderr
    assert "\x1b[" not in ran.stderr
    assert not (rust_ws.root / "oxide-out" / "k" / "twice.sm_80.ptx").exists()


def test_colours_are_kept_where_they_are_wanted(rust_ws: Space) -> None:
    rust_ws.write("k/twice.rs", KERNEL.replace("2.0", "two"))
    rust_ws.environ = {"FORCE_COLOR": "1", "NO_COLOR": ""}
    assert "\x1b[" in rust_ws.oxide("build", "//...").stderr


def test_a_failure_is_not_cached(rust_ws: Space) -> None:
    rust_ws.write("k/twice.rs", KERNEL.replace("2.0", "two"))
    for _ in range(2):
        ran = rust_ws.oxide("build", "//...", "--json")
        assert ran.exit_code == 4
        assert ran.actions["failed"] == 1
    rust_ws.write("k/twice.rs", KERNEL)
    rust_ws.build()


def test_a_warning_is_shown_again_by_a_hit(rust_ws: Space) -> None:
    rust_ws.write("k/twice.rs", KERNEL + "\nfn unused() {}\n")
    for _ in range(2):
        assert "function `unused` is never used" in rust_ws.oxide("build", "//...").stderr


def test_an_undeclared_read_names_the_file_and_the_attribute(rust_ws: Space) -> None:
    rust_ws.write("table.bin", b"1234")
    rust_ws.write("k/twice.rs", KERNEL + '\nstatic T: [u8; 4] = *include_bytes!("../table.bin");\n')
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 4
    assert "`table.bin` is there, but `//k:twice` does not declare it" in ran.stderr
    assert "`compile_data`" in ran.stderr


def test_an_absolute_read_is_an_error_although_it_compiles(rust_ws: Space) -> None:
    rust_ws.write("k/twice.rs", KERNEL + '\npub const H: &str = include_str!("/etc/hostname");\n')
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 4
    assert "`//k:twice` reads `/etc/hostname`, which it does not declare" in ran.stderr


def test_declared_data_can_be_included(rust_ws: Space) -> None:
    rust_ws.write("k/table.bin", b"1234")
    rust_ws.write("k/BUILD.toml", BUILD.replace(
        'srcs = ["twice.rs"]', 'srcs = ["twice.rs"]\ncompile_data = ["table.bin"]'))  # fmt: skip
    rust_ws.write(
        "k/twice.rs", KERNEL + '\npub static T: [u8; 4] = *include_bytes!("table.bin");\n'
    )
    assert rust_ws.build().actions["failed"] == 0


def test_keep_going_builds_what_does_not_need_the_failure(rust_ws: Space) -> None:
    rust_ws.write("bad/BUILD.toml", BUILD)
    rust_ws.write("bad/grid.rs", "#![no_std]\nbroken")
    rust_ws.write("bad/twice.rs", KERNEL)
    ran = rust_ws.oxide("build", "//...", "--keep-going", "--json")
    assert ran.exit_code == 4
    assert ran.actions["failed"] == 1
    assert ran.actions["skipped"] == 6
    complete = {label: found["complete"] for label, found in ran.record["targets"].items()}
    assert complete == {
        "//bad:grid": False,
        "//bad:twice": False,
        "//k:grid": True,
        "//k:twice": True,
    }
    assert (rust_ws.root / "oxide-out/k/twice.sm_90.cubin").exists()


def test_an_entry_that_is_not_there_is_named(rust_ws: Space) -> None:
    rust_ws.write("k/BUILD.toml", BUILD + 'entries = ["twcie"]\n')
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 4
    assert "twcie" in ran.stderr
    assert "`twice`" in ran.stderr


def test_std_is_explained(rust_ws: Space) -> None:
    rust_ws.write("k/twice.rs", KERNEL.replace("#![no_std]", ""))
    assert "begin the crate with `#![no_std]`" in rust_ws.oxide("build", "//...").stderr


def test_an_undefined_device_function_is_explained(rust_ws: Space) -> None:
    rust_ws.write("k/twice.rs", KERNEL.replace("2.0 }", "elsewhere() }") +
                  '\nunsafe extern "C" { fn elsewhere() -> f32; }\n')  # fmt: skip
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 4
    assert "nothing defines the device function `elsewhere`" in ran.stderr


def test_an_unknown_arch_is_refused_before_compiling(rust_ws: Space) -> None:
    ran = rust_ws.oxide("build", "//...", "--arch", "sm_91")
    assert ran.exit_code == 6
    assert "does not know the arch `sm_91`" in ran.stderr
    assert "compile" not in ran.stderr
