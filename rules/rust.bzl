"""`rust_library` and `rust_kernel`: plain rustc to PTX and cubin.

Stages of a kernel: compile (rustc to bitcode), link (with libraries, core and a panic handler;
entries kept; `.shared` and `.constant` statics placed), then for each arch codegen (opt and llc)
and assemble (ptxas). The first two run once for all archs where that is sound.
"""

load("@oxide//prelude.bzl", "action", "attr", "command", "join", "result", "rule", "stage_path", "unique")
load("@oxide//rust_toolchain.bzl", "BASE_CPU", "DEVICE_FLAGS", "REPRODUCIBLE", "rustc_env")
load("@oxide//stages.bzl", "ENTRIES", "MIN_PTX", "artifacts", "link")

_REFUSED = {
    "--target*": "the target is always nvptx64-nvidia-cuda",
    "-o*": "outputs are named by the rule",
    "--out-dir*": "outputs are named by the rule",
    "--emit*": "outputs are named by the rule",
    "--crate-type*": "use `rust_library` or `rust_kernel`",
    "--crate-name*": "use `crate_name`",
    "--edition*": "use `edition`",
    "--sysroot*": "the sysroot belongs to the toolchain",
    "--extern*": "use `deps`",
    "-L*": "use `deps`",
    "-l*": "use `deps`",
    "--remap-path-prefix*": "the tool remaps paths itself, so that results do not depend on the folder",
    "--error-format*": "the tool shows rustc's messages itself",
    "--json*": "the tool shows rustc's messages itself",
    "--color*": "the tool decides on colours",
    "--print*": "it prints instead of compiling",
    "--test*": "device code has no test harness; see `smoke_test`",
    "--cfg*": "use `features` or `cfgs`",
    "--codegen*": "write `-C …`, the short form that the tool checks",
    "-O*": "use `opt_level`",
    "-g*": "use `debug`",
    # Short flags can be written together (`-vO`), so one that says nothing alone is refused too.
    "-v*": "the tool shows rustc's messages itself",
    "-Ctarget-cpu*": "use `archs`",
    "-Ctarget-feature*": "use `archs`; the PTX version is chosen by the tool",
    "-Copt-level*": "use `opt_level`",
    "-Cdebuginfo*": "use `debug`",
    "-Cpanic*": "device code always aborts",
    "-Ccodegen-units*": "the link stage needs one unit",
    "-Cno-prepopulate-passes*": "the tool sets it",
    "-Cpasses*": "passes run after the link; use `opt_level`",
    "-Clto*": "the link stage does it",
    "-Clinker*": "no linker runs; the link stage uses llvm-link",
    "-Clink-arg*": "no linker runs; the link stage uses llvm-link",
    "-Cmetadata*": "the tool sets it from the label",
    "-Cextra-filename*": "outputs are named by the rule",
    "-Cincremental*": "an action keeps no state",
    "-Csave-temps*": "an action keeps only its declared outputs",
    "-Zcodegen-backend*": "use `cuda_oxide_kernel`",
    "@*": "argument files hide what an action reads",
}

CRATE_FLAGS = attr.string_list(
    "Further flags of rustc, such as lints. Those that would break the target or the cache are refused.",
    default = [],
    refuse = _REFUSED,
)

_CRATE_ATTRS = {
    "srcs": attr.source_list(
        "The crate's Rust files: paths, globs (`\"*.rs\"`, `\"!gen.rs\"`) or labels.",
        mandatory = True,
        extensions = [".rs"],
        scan = ["target_feature"],
    ),
    "crate_root": attr.string(
        "The file that rustc starts from, relative to the package. Default: `lib.rs` or " +
        "`src/lib.rs`, else `NAME.rs`, else the only source.",
        default = "",
    ),
    "crate_name": attr.string("Name of the crate. Default: the target's, with `_` for `-`.", default = ""),
    "deps": attr.label_list("Libraries that the crate uses.", default = [], rules = ["rust_library"]),
    "edition": attr.string("Edition of the language.", default = "2021", values = ["2015", "2018", "2021", "2024"]),
    "features": attr.string_list("`cfg(feature = \"…\")` values.", default = []),
    "cfgs": attr.string_list("Further `cfg`s: `name` or `name=\"value\"`.", default = []),
    "compile_data": attr.source_list(
        "Other files that the compiler reads (`include_bytes!`, `include_str!`).",
        default = [],
        scan = ["target_feature"],
    ),
    "rustc_flags": CRATE_FLAGS,
    "opt_level": attr.string("How much LLVM optimises.", default = "3", values = ["0", "1", "2", "3", "s", "z"]),
    "debug": attr.bool("Line information for profilers and cuda-gdb.", default = False),
}

def _in_crate(path):
    """Where a source lies during compilation: a generated one beside those of the package."""
    if not path.startswith("oxide-out/"):
        return path
    path = path.removeprefix("oxide-out/")
    return path.split("/", 2)[2] if path.startswith(".config/") else path

def _crate_root(ctx):
    wanted = ctx.attrs.crate_root
    srcs = [src for src in ctx.attrs.srcs if src.endswith(".rs")]
    if not srcs:
        fail("`srcs` of `%s` has no Rust file" % ctx.label)
    names = [wanted] if wanted else ["lib.rs", "src/lib.rs", ctx.name + ".rs", "src/" + ctx.name + ".rs"]
    plain = {_in_crate(src): None for src in srcs}
    for name in names:
        if join(ctx.package, name) in plain:
            return join(ctx.package, name)
    if wanted:
        fail("`crate_root` of `%s` is %s, which is not in `srcs`: %s" % (ctx.label, repr(wanted), ", ".join(srcs)))
    if len(srcs) == 1:
        return _in_crate(srcs[0])
    fail("`%s` needs `crate_root`: none of %s is among its %d sources" % (ctx.label, ", ".join(names), len(srcs)))

def _crate(ctx):
    """The crate as plain values, for this rule's own actions and for its dependents'."""
    deps = [dep.crate for dep in ctx.attrs.deps]
    below = _merge(deps)
    names = {}
    for dep in deps:
        other = names.setdefault(dep["name"], dep["label"])
        if other != dep["label"]:
            fail("`%s` and `%s` in `deps` of `%s` are both the crate `%s`; give one of them another `crate_name`" % (other, dep["label"], ctx.label, dep["name"]))
    return dict(
        label = ctx.label,
        name = ctx.attrs.crate_name or ctx.name.replace("-", "_").replace("/", "_").replace(".", "_"),
        root = _crate_root(ctx),
        inputs = unique(ctx.attrs.srcs + ctx.attrs.compile_data),
        stage = stage_path(ctx, ""),
        # The toolchain that a library's own actions use; a kernel's arch may need another one.
        rust = _any_toolchain(ctx)["id"],
        edition = ctx.attrs.edition,
        features = ctx.attrs.features,
        cfgs = ctx.attrs.cfgs,
        flags = ctx.attrs.rustc_flags,
        opt_level = ctx.attrs.opt_level,
        debug = ctx.attrs.debug,
        # Whether some file of the crate, or of one that it uses, mentions `target_feature`: the
        # only word by which source can ask which GPU it is compiled for.
        sees_target = bool(ctx.scanned["srcs"] or ctx.scanned["compile_data"]) or any([dep["sees_target"] for dep in deps]),
        direct = [dep["label"] for dep in deps],
        # Every crate below this one, each once, dependencies before dependents.
        below = below,
        reach = [dep["label"] for dep in below],
    )

def _merge(deps):
    seen = {}
    for dep in deps:
        for crate in dep["below"] + [dep]:
            if crate["label"] not in seen:
                seen[crate["label"]] = {key: value for key, value in crate.items() if key != "below"}
    return seen.values()

def _paths(crate, tc, cpu):
    """Where the compile stage puts a crate: one place for all archs, or one for each."""
    folder = join(crate["stage"], tc["id"], "" if cpu == BASE_CPU else cpu)
    return struct(
        metadata = folder + "/lib" + crate["name"] + ".rmeta",
        bitcode = folder + "/" + crate["name"] + ".bc",
        deps = crate["name"] + ".d",
    )

def _compile(crate, below, tc, cpu):
    """The compile stage: one crate to metadata and bitcode on which no pass has run."""
    own = _paths(crate, tc, cpu)
    externs, search = [], []
    for dep in below:
        at = _paths(dep, tc, cpu)
        if dep["label"] in crate["direct"]:
            externs += ["--extern", dep["name"] + "=" + at.metadata]
        search.append(at.metadata.rpartition("/")[0])
    mismatch = ["-Cunsafe-allow-abi-mismatch=target-cpu"] if cpu != BASE_CPU and tc["facts"]["target_cpu_is_modifier"] else []
    argv = [tc["tools"]["rustc"], "--sysroot", tc["sysroot"]] + DEVICE_FLAGS + REPRODUCIBLE + mismatch + [
        "--crate-type",
        "rlib",
        "--crate-name",
        crate["name"],
        "--edition",
        crate["edition"],
        "-C",
        "opt-level=" + crate["opt_level"],
        "-C",
        "target-cpu=" + cpu,
        "-C",
        "metadata=" + crate["label"],
        "--color=always",
        "--emit=metadata=%s,llvm-bc=%s,dep-info=%s" % (own.metadata, own.bitcode, own.deps),
    ]
    if crate["debug"]:
        # Directives only: with tables LLVM writes `.target …, debug`, which ptxas takes for a build
        # without optimisation and refuses ("Optimized debugging not supported").
        argv += ["-C", "debuginfo=line-directives-only"]
    for feature in crate["features"]:
        argv += ["--cfg", 'feature="%s"' % feature]
    argv += ["--check-cfg", "cfg(feature, values(%s))" % ", ".join(['"%s"' % f for f in crate["features"]])]
    for cfg in crate["cfgs"]:
        name, equals, value = cfg.partition("=")
        argv += ["--cfg", cfg, "--check-cfg", "cfg(%s, values(%s))" % (name, value) if equals else "cfg(%s)" % name]
    argv += externs
    for folder in unique(search):
        argv += ["-L", "dependency=" + folder]
    argv += crate["flags"] + [crate["root"]]
    return action(
        stage = "compile",
        arch = None if cpu == BASE_CPU else cpu,
        commands = [
            command(["@copy", path, _in_crate(path)])
            for path in crate["inputs"]
            if path != _in_crate(path)
        ] + [
            command(argv),
            command(["@check-dep-info", own.deps, "compile_data"]),
        ],
        inputs = crate["inputs"] + tc["metadata"] + [_paths(dep, tc, cpu).metadata for dep in below],
        outputs = [own.metadata, own.bitcode],
        tools = [(tc["id"], "rustc")],
        env = rustc_env(tc["env"]),
    )

def _rust_library(ctx):
    crate = _crate(ctx)
    tc = _any_toolchain(ctx)
    compiled = _compile(crate, crate["below"], tc, BASE_CPU)
    return result(
        actions = [compiled],
        # A library has no file of its own to show: building it proves that it compiles.
        outputs = [],
        files = [_paths(crate, tc, BASE_CPU).bitcode],
        crate = crate,
    )

def _any_toolchain(ctx):
    for tc in ctx.toolchains["rust"].values():
        return tc
    fail("no rust toolchain was resolved for `%s`" % ctx.label)

def _rust_kernel(ctx):
    crate = _crate(ctx)
    below = crate["below"]
    actions, modules, done = [], {}, {}
    for arch in ctx.archs:
        rust = ctx.toolchains["rust"][arch.name]
        cpu = arch.name if crate["sees_target"] else BASE_CPU
        module = stage_path(ctx, "module.%s.%s.bc" % (rust["id"], cpu))
        modules[arch.name] = module
        if (rust["id"], cpu) in done:
            continue
        done[(rust["id"], cpu)] = True
        for dep in below:
            # A library compiles itself once, by its own toolchain and for all archs.
            if cpu != BASE_CPU or rust["id"] != dep["rust"]:
                inner = [other for other in below if other["label"] in dep["reach"]]
                actions.append(_compile(dep, inner, rust, cpu))
        actions.append(_compile(crate, below, rust, cpu))
        kernel = _paths(crate, rust, cpu).bitcode
        libraries = [_paths(dep, rust, cpu).bitcode for dep in below]
        actions.append(link(ctx, rust, cpu, kernel, [kernel] + libraries, module))
    made = artifacts(ctx, modules)
    return result(
        actions = actions + made.actions,
        outputs = made.outputs,
        notes = {"front_end": "per arch" if crate["sees_target"] else "shared"},
        kernel = made.kernel,
    )

RULES = {
    "rust_library": rule(
        implementation = _rust_library,
        doc = "A crate of device code that kernels and other libraries use.",
        attrs = _CRATE_ATTRS,
        toolchains = ["rust"],
    ),
    "rust_kernel": rule(
        implementation = _rust_kernel,
        doc = """A crate whose `extern "ptx-kernel"` functions become PTX and cubin, for each arch.

Outputs for each arch: `NAME.sm_XX.ptx`, `NAME.sm_XX.cubin` and `NAME.sm_XX.json`, which has the entries with
their parameters, registers, spills and memory.""",
        attrs = dict(
            _CRATE_ATTRS,
            entries = ENTRIES,
            min_ptx = MIN_PTX,
        ),
        per_arch = True,
        toolchains = ["rust", "cuda"],
    ),
}
