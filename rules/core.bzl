"""Rules that know nothing of GPUs: `filegroup` and `genrule`."""

load("@oxide//prelude.bzl", "action", "attr", "command", "config_path", "output", "result", "rule")

def _filegroup(ctx):
    return result(files = ctx.attrs.srcs)

def _substitute(arg, ctx, outs):
    if "$(SRCS)" == arg:
        return ctx.attrs.srcs
    if "$(OUTS)" == arg:
        return outs
    arg = arg.replace("$(OUT)", outs[0])
    if "$(SRC)" in arg:
        if len(ctx.attrs.srcs) != 1:
            fail("`$(SRC)` needs exactly one file in `srcs`, but there are %d" % len(ctx.attrs.srcs))
        arg = arg.replace("$(SRC)", ctx.attrs.srcs[0])
    return [arg.replace("$(PACKAGE)", ctx.package)]

def _genrule(ctx):
    outs = [config_path(ctx, name) for name in ctx.attrs.outs]
    if ctx.attrs.cmd and ctx.attrs.shell:
        fail("`cmd` and `shell` are both given: a genrule runs one of them")
    if ctx.attrs.shell:
        script = ctx.attrs.shell
        for name, value in [("$(SRCS)", " ".join(ctx.attrs.srcs)), ("$(OUTS)", " ".join(outs))]:
            script = script.replace(name, value)
        argv = ["/bin/sh", "-eu", "-c"] + _substitute(script, ctx, outs)
    elif ctx.attrs.cmd:
        argv = [part for arg in ctx.attrs.cmd for part in _substitute(arg, ctx, outs)]
    else:
        fail("neither `cmd` nor `shell` is given: a genrule needs one of them")
    return result(
        actions = [action(
            stage = "genrule",
            commands = [command(argv, stdout = outs[0] if ctx.attrs.capture_stdout else None)],
            inputs = ctx.attrs.srcs,
            outputs = outs,
            env = dict({"PATH": "/usr/local/bin:/usr/bin:/bin"}, **ctx.attrs.env),
        )],
        outputs = [output(path) for path in outs],
    )

RULES = {
    "filegroup": rule(
        implementation = _filegroup,
        doc = "A name for some files, for use as `srcs` or `compile_data` of others.",
        attrs = {
            "srcs": attr.source_list("The files.", mandatory = True),
        },
    ),
    "genrule": rule(
        implementation = _genrule,
        doc = """Runs a program of the machine to make files.

`$(SRCS)` and `$(OUTS)` as a whole argument stand for all paths, `$(SRC)` and `$(OUT)` for the only
source and the first output, `$(PACKAGE)` for the package's path. The program is the machine's, so
unlike compilers it is no part of the cache key: name what it depends on in `srcs` or `env`.""",
        attrs = {
            "srcs": attr.source_list("Files that the program may read.", default = []),
            "outs": attr.output_list("Files that it makes.", mandatory = True),
            "cmd": attr.string_list("The program and its arguments; no shell is involved.", default = []),
            "shell": attr.string("A `/bin/sh` script instead of `cmd`.", default = ""),
            "capture_stdout": attr.bool("Write standard output to the first of `outs`.", default = False),
            "env": attr.string_map("Environment variables, besides a fixed `PATH`.", default = {}),
        },
    ),
}
