"""`cargo_kernel`: a Cargo package to PTX and cubin with plain rustc.

cargo resolves, builds proc macros and build scripts for this machine, and calls rustc for the GPU
with the sysroot of the tool; what it leaves is bitcode of each crate. Two actions, so that an edit
does not compile what others wrote again: `cargo-deps` compiles all that the packages of the
workspace need, with empty sources in their place, and `compile` goes on from what it left. The
stages from link on are those of `rust_kernel`.
"""

load("@oxide//prelude.bzl", "action", "attr", "command", "join", "result", "rule", "stage_path", "unique")
load("@oxide//rust.bzl", "CRATE_FLAGS")
load("@oxide//rust_toolchain.bzl", "BASE_CPU", "TARGET")
load("@oxide//stages.bzl", "ENTRIES", "MIN_PTX", "artifacts", "link")

# Source asks which GPU it is compiled for by a `cfg` or an attribute of the first name with a
# feature in quotes, and by nothing else. All have `"ptx-kernel"`; features are called `ptx80`.
_ASKS = "target_feature"
_FEATURES = ['"sm_'] + ['"ptx%d' % digit for digit in range(1, 10)]

_FOLDER = "oxide-out/.cargo"
_BUILT = _FOLDER + "/target"

def _is_manifest(path):
    return path.rpartition("/")[2] in ("Cargo.toml", "Cargo.lock")

def _is_build_script(path):
    return path.rpartition("/")[2] == "build.rs"

def _environment(ctx, tc, cpu):
    mismatch = ["-Cunsafe-allow-abi-mismatch=target-cpu"] if cpu != BASE_CPU and tc["facts"]["target_cpu_is_modifier"] else []
    flags = ["-Cpanic=abort", "-Ccodegen-units=1", "-Cno-prepopulate-passes", "-Ctarget-cpu=" + cpu, "--emit=llvm-bc"]
    return {
        # Host programs are linked by the machine's `cc`.
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags + mismatch + ctx.attrs.rustc_flags),
        "CARGO_INCREMENTAL": "0",
        "CARGO_TERM_COLOR": "always",
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "1",
        "CARGO_PROFILE_RELEASE_DEBUG": "line-directives-only" if ctx.attrs.debug else "none",
        "CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS": "false",
        "CARGO_PROFILE_RELEASE_LTO": "off",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": ctx.attrs.opt_level,
        "CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS": "false",
        "CARGO_PROFILE_RELEASE_PANIC": "abort",
        "CARGO_PROFILE_RELEASE_STRIP": "none",
    }

def _cargo(ctx):
    """cargo, as `@cargo-prepare` left it."""
    attrs = ctx.attrs
    return [
        _FOLDER + "/cargo",
        "rustc",
        "--quiet",
        "--frozen",
        "--release",
        "--lib",
        "--crate-type",
        "rlib",
        "--target",
        TARGET,
        "--config",
        "{cwd}/%s/config.toml" % _FOLDER,
        "--manifest-path",
        "{cwd}/" + join(ctx.package, attrs.manifest),
        "--target-dir",
        "{cwd}/" + _BUILT,
    ] + (["--package", attrs.cargo_package] if attrs.cargo_package else []) + (
        ["--no-default-features"] if not attrs.default_features else []
    ) + (["--features", ",".join(attrs.features)] if attrs.features else [])

def _front_end(ctx, tc, cpu, kernel, crates):
    """The two actions that make `kernel` and `crates`, bitcode of the package and of all crates."""
    if "cargo" not in tc["tools"]:
        fail("`%s` needs cargo, and rustc %s came without it: use a toolchain of rustup" % (ctx.label, tc["version"]))
    files = unique(ctx.attrs.srcs + [ctx.attrs.cargo_lock])
    manifests = [path for path in files if _is_manifest(path)]
    scripts = [path for path in files if _is_build_script(path)]
    prepare = [
        "@cargo-prepare",
        ctx.crates["mount"] if ctx.crates else "-",
        tc["sysroot"],
        tc["tools"]["cargo"],
        tc["tools"]["rustc"],
        tc["env"].get("LD_LIBRARY_PATH", ""),
    ]
    tools = [(tc["id"], "rustc"), (tc["id"], "cargo")] + ([(ctx.crates["id"], "crates")] if ctx.crates else [])
    env = _environment(ctx, tc, cpu)
    # Where the lock file lies is the root of cargo's workspace.
    root = ctx.attrs.cargo_lock.rpartition("/")[0] or "."
    arch = None if cpu == BASE_CPU else cpu
    built = stage_path(ctx, "deps.%s.%s.tar" % (tc["id"], cpu))
    return [
        action(
            stage = "cargo-deps",
            arch = arch,
            commands = [
                command(prepare + [path for path in manifests if path.endswith("Cargo.toml")] + scripts),
                command(_cargo(ctx)),
                command(["@pack", _BUILT, built]),
            ],
            inputs = manifests + tc["metadata"],
            outputs = [built],
            tools = tools,
            env = env,
        ),
        action(
            stage = "compile",
            arch = arch,
            commands = [
                command(prepare),
                command(["@unpack", built, _BUILT]),
                command(_cargo(ctx) + ["--message-format=json-render-diagnostics"], stdout = "cargo.json"),
                command(["@cargo-bitcode", "cargo.json", root, _BUILT, kernel, "crates.txt"]),
                command([tc["tools"]["llvm-link"], "@crates.txt", "-o", crates]),
            ],
            inputs = files + [built] + tc["metadata"],
            outputs = [kernel, crates],
            tools = tools + [(tc["id"], "llvm")],
            env = env,
        ),
    ]

def _cargo_kernel(ctx):
    manifest = join(ctx.package, ctx.attrs.manifest)
    if manifest not in ctx.attrs.srcs:
        fail("`srcs` of `%s` must have its manifest, `%s`, and every file that cargo reads" % (ctx.label, manifest))
    words = ctx.scanned["srcs"] + (ctx.crates["target_words"] if ctx.crates else [])
    sees_target = _ASKS in words and any([word in words for word in _FEATURES])
    actions, modules = [], {}
    for arch in ctx.archs:
        rust = ctx.toolchains["rust"][arch.name]
        cpu = arch.name if sees_target else BASE_CPU
        module, kernel, crates = [
            stage_path(ctx, "%s.%s.%s.bc" % (what, rust["id"], cpu))
            for what in ("module", "kernel", "crates")
        ]
        if module not in modules.values():
            actions += _front_end(ctx, rust, cpu, kernel, crates)
            actions.append(link(ctx, rust, cpu, kernel, [crates], module))
        modules[arch.name] = module
    made = artifacts(ctx, modules)
    return result(
        actions = actions + made.actions,
        outputs = made.outputs,
        notes = {"front_end": "per arch" if sees_target else "shared"},
        kernel = made.kernel,
    )

RULES = {
    "cargo_kernel": rule(
        implementation = _cargo_kernel,
        doc = """A Cargo package whose `extern "ptx-kernel"` functions become PTX and cubin, for each arch.

The package is a library without `std`; what its manifest says of crate types and of the profile's LTO, debug
information and panics does not matter. Crates from outside are fetched once, as `Cargo.lock` names them, and builds are
offline. Proc macros and build scripts run on this machine, with its `cc`. Outputs as those of `rust_kernel`.""",
        attrs = {
            "srcs": attr.source_list(
                "Every file that cargo and the crates read: manifests, Rust files and what they include, those of path " +
                "dependencies too. Nothing else is there when it compiles.",
                mandatory = True,
                scan = [_ASKS] + _FEATURES,
            ),
            "cargo_lock": attr.source("The `Cargo.lock` of the package or of its workspace.", mandatory = True, extensions = ["Cargo.lock"], configurable = False),
            "manifest": attr.string("The manifest, relative to the package of `BUILD.toml`.", default = "Cargo.toml"),
            "cargo_package": attr.string("The package, where the manifest is that of a workspace.", default = ""),
            "features": attr.string_list("Features of the package.", default = []),
            "default_features": attr.bool("Whether its default features are on.", default = True),
            "rustc_flags": CRATE_FLAGS,
            "opt_level": attr.string("How much LLVM optimises.", default = "3", values = ["0", "1", "2", "3", "s", "z"]),
            "debug": attr.bool("Line information for profilers and cuda-gdb.", default = False),
            "entries": ENTRIES,
            "min_ptx": MIN_PTX,
        },
        per_arch = True,
        toolchains = ["rust", "cuda"],
        lockfile = "cargo_lock",
    ),
}
