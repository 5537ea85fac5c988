"""What plain rustc needs before it can compile for a GPU: `core` for nvptx64, and a panic handler.

rustup does not offer the prebuilt `core` of this target, so it is compiled from `rust-src`, once
per toolchain. Everything is emitted as bitcode on which no LLVM pass has run: `rustc -O` by itself
is not bit-reproducible, and address spaces can only be placed soundly before GlobalOpt has seen
the statics (see docs/adr/0003-no-passes-before-placement.md).
"""

load("@oxide//prelude.bzl", "action", "command", "result", "toolchain")

TARGET = "nvptx64-nvidia-cuda"

# All crates are compiled for one cpu, the oldest that every supported rustc lists. LLVM selects
# instructions by the `target-cpu` attribute of a function, so the link stage removes it and codegen
# sets the real one.
BASE_CPU = "sm_70"

# `{cwd}` differs for each action; remapped, paths in metadata and debug info do not.
REPRODUCIBLE = ["--remap-path-prefix", "{cwd}=."]

DEVICE_FLAGS = [
    "--target",
    TARGET,
    "-C",
    "panic=abort",
    "-C",
    "codegen-units=1",
    "-C",
    "no-prepopulate-passes",
]

_PANIC = """#![no_std]
#![feature(stdarch_nvptx)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { core::arch::nvptx::trap() }
}
"""

def rustc_env(env):
    """RUSTC_BOOTSTRAP lets stable compilers take the features that this target needs."""
    return dict({"RUSTC_BOOTSTRAP": "1"}, **env)

def _rust(ctx):
    folder = "oxide-out/.toolchain/rust-" + ctx.id
    sysroot = folder + "/sysroot"
    lib = sysroot + "/lib/rustlib/" + TARGET + "/lib"
    base = [ctx.tools["rustc"]] + DEVICE_FLAGS + REPRODUCIBLE + [
        "-C",
        "opt-level=3",
        "-C",
        "target-cpu=" + BASE_CPU,
        "--crate-type",
        "rlib",
        "--cap-lints",
        "allow",
    ]
    env = rustc_env(ctx.env)
    core = lib + "/libcore.rmeta"
    core_bc = folder + "/core.bc"
    builtins = lib + "/libcompiler_builtins.rmeta"
    builtins_bc = folder + "/compiler_builtins.bc"
    panic_bc = folder + "/panic.bc"
    merged_bc = folder + "/sysroot.bc"
    trees = [(ctx.id, "rustc"), (ctx.id, "rust-src")]
    actions = [
        action(
            stage = "sysroot",
            commands = [command(base + ["--edition=" + ctx.facts["core_edition"]] + [
                "--crate-name",
                "core",
                ctx.facts["core_root"],
                "--emit=metadata=" + core + ",llvm-bc=" + core_bc,
            ])],
            inputs = [],
            outputs = [core, core_bc],
            tools = trees,
            env = env,
        ),
        action(
            stage = "sysroot",
            commands = [command(base + ["--edition=" + ctx.facts["builtins_edition"]] + [
                "--crate-name",
                "compiler_builtins",
                ctx.facts["builtins_root"],
                "--sysroot",
                sysroot,
                "--cfg",
                'feature="compiler-builtins"',
                "--cfg",
                'feature="mem"',
                "-Z",
                "force-unstable-if-unmarked",
                "--emit=metadata=" + builtins + ",llvm-bc=" + builtins_bc,
            ])],
            inputs = [core],
            outputs = [builtins, builtins_bc],
            tools = trees,
            env = env,
        ),
        action(
            stage = "sysroot",
            commands = [
                command(["@write-file", "panic.rs", _PANIC]),
                command(base + [
                    "--edition",
                    "2021",
                    "--crate-name",
                    "oxide_panic",
                    "panic.rs",
                    "--sysroot",
                    sysroot,
                    "--emit=llvm-bc=" + panic_bc,
                ]),
            ],
            inputs = [core, builtins],
            outputs = [panic_bc],
            tools = [(ctx.id, "rustc")],
            env = env,
        ),
        # core and compiler_builtins call each other, and llvm-link takes what is needed out of one
        # file after the other without looking back: so they become one file.
        action(
            stage = "sysroot",
            commands = [command([ctx.tools["llvm-link"], core_bc, builtins_bc, "-o", merged_bc])],
            inputs = [core_bc, builtins_bc],
            outputs = [merged_bc],
            tools = [(ctx.id, "llvm")],
            env = ctx.env,
        ),
    ]
    return result(
        actions = actions,
        id = ctx.id,
        version = ctx.version,
        tools = ctx.tools,
        facts = ctx.facts,
        env = ctx.env,
        sysroot = sysroot,
        metadata = [core, builtins],
        # In the order of llvm-link: the panic handler is needed by core. Where a crate has one of
        # its own, nothing needs ours any more.
        bitcode = [merged_bc, panic_bc],
    )

def _cuda(ctx):
    return result(id = ctx.id, version = ctx.version, tools = ctx.tools, facts = ctx.facts, env = ctx.env)

def _crates(ctx):
    return result(id = ctx.id, mount = ctx.tools["crates"], target_words = ctx.facts["target_words"])

TOOLCHAINS = {
    "rust": toolchain(
        implementation = _rust,
        doc = "rustc, the source of core, and LLVM tools of rustc's LLVM.",
    ),
    "cuda": toolchain(
        implementation = _cuda,
        doc = "ptxas.",
    ),
    "crates": toolchain(
        implementation = _crates,
        doc = "What a `Cargo.lock` takes from outside the workspace.",
    ),
}
