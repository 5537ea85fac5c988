"""The stages that follow a front end: from bitcode of crates to PTX, cubin and record.

link takes bitcode on which no pass has run and makes one module for all archs of a front end, then
come codegen (opt and llc) and assemble (ptxas) for each arch.
"""

load("@oxide//prelude.bzl", "action", "attr", "command", "out_path", "output", "unique")
load("@oxide//rust_toolchain.bzl", "BASE_CPU")

ENTRIES = attr.string_list(
    "The functions to keep. Default: every exported `extern \"ptx-kernel\"` function.",
    default = [],
)

MIN_PTX = attr.string(
    "The PTX version (`8.0`) that inline assembly in the kernel needs at least. Default: the " +
    "lowest that each arch needs, which the oldest drivers take.",
    default = "",
    configurable = False,
)

def link(ctx, tc, cpu, kernel, crates, module):
    """The link stage: one self-contained module, entries visible, statics in their memories.

    `kernel` is bitcode of the crate whose entries are kept, `crates` that of all, this one too.
    """
    tools = tc["tools"]
    return action(
        stage = "link",
        arch = None if cpu == BASE_CPU else cpu,
        commands = [
            command([tools["llvm-dis"], kernel, "-o", "crate.ll"]),
            command(["@public-symbols", "crate.ll", "symbols.txt", ctx.label] + ctx.attrs.entries),
            # Crates as a whole, since they may need each other's symbols in any order (a panic
            # handler in a library); of the sysroot what they need.
            command([tools["llvm-link"]] + crates + ["-o", "crates.bc"]),
            command([tools["llvm-link"], "--only-needed", "crates.bc"] + tc["bitcode"] + ["-o", "linked.bc"]),
            command([
                tools["opt"],
                "-passes=internalize,globaldce",
                "-internalize-public-api-file=symbols.txt",
                "linked.bc",
                "-o",
                "internal.bc",
            ]),
            command([tools["llvm-dis"], "internal.bc", "-o", "internal.ll"]),
            command(["@place-address-spaces", "internal.ll", "placed.ll", ctx.label]),
            command([tools["llvm-as"], "placed.ll", "-o", module]),
        ],
        inputs = unique([kernel] + crates + tc["bitcode"]),
        outputs = [module],
        tools = [(tc["id"], "llvm")],
        env = tc["env"],
    )

def codegen(ctx, tc, arch, module, ptx):
    """The codegen stage: LLVM's whole pipeline, then PTX."""
    level = ctx.attrs.opt_level
    tools = tc["tools"]
    return action(
        stage = "codegen",
        arch = arch.name,
        commands = [
            command([
                tools["opt"],
                "-mcpu=" + arch.name,
                "-passes=default<O%s>,globaldce" % level,
                module,
                "-o",
                "optimised.bc",
            ]),
            # llc has no size levels: O2 is what clang gives it for Os and Oz.
            command([
                tools["llc"],
                "-O" + ("2" if level in ("s", "z") else level),
                "-mcpu=" + arch.name,
            ] + (["-mattr=+" + arch.ptx_feature] if arch.ptx_feature else []) + [
                "optimised.bc",
                "-o",
                ptx,
            ]),
        ],
        inputs = [module],
        outputs = [ptx],
        tools = [(tc["id"], "llvm")],
        env = tc["env"],
    )

def assemble(ctx, rust, cuda, arch, ptx, cubin, record):
    """The assemble stage: ptxas proves the PTX, and says what each entry needs."""
    return action(
        stage = "assemble",
        arch = arch.name,
        commands = [
            command(
                [cuda["tools"]["ptxas"], "-arch=" + arch.name, "-v"] +
                (["-lineinfo"] if ctx.attrs.debug else []) +
                ["-O" + ("3" if ctx.attrs.opt_level in ("s", "z") else ctx.attrs.opt_level), ptx, "-o", cubin],
                stderr = "ptxas.log",
            ),
            command([
                "@assembly-record",
                ptx,
                "ptxas.log",
                record,
                ctx.label,
                arch.name,
                "rustc=" + rust["version"],
                "llvm=" + rust["facts"]["llvm"],
                "ptxas=" + cuda["version"],
            ]),
        ],
        inputs = [ptx],
        outputs = [cubin, record],
        tools = [(cuda["id"], "ptxas")],
        env = cuda["env"],
    )

def artifacts(ctx, modules):
    """Codegen and assemble for each arch of `ctx`; `modules` has the module of each by its name."""
    actions, outputs, found = [], [], []
    for arch in ctx.archs:
        rust = ctx.toolchains["rust"][arch.name]
        cuda = ctx.toolchains["cuda"][arch.name]
        stem = out_path(ctx, "%s.%s" % (ctx.name, arch.name))
        ptx, cubin, record = stem + ".ptx", stem + ".cubin", stem + ".json"
        actions.append(codegen(ctx, rust, arch, modules[arch.name], ptx))
        actions.append(assemble(ctx, rust, cuda, arch, ptx, cubin, record))
        outputs += [output(path, arch.name) for path in ([ptx] if arch.ptx else []) + ([cubin] if arch.cubin else []) + [record]]
        found.append(struct(arch = arch.name, ptx = ptx, cubin = cubin, record = record))
    return struct(actions = actions, outputs = outputs, kernel = struct(artifacts = found))
