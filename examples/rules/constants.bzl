"""A rule of this workspace: `rust_constants` writes a Rust module from a table in BUILD.toml.

`rules = ["//examples/rules/constants.bzl"]` in oxide.toml makes it known. It is written in the same
language, with the same means, as the rules that come with the tool.
"""

load("@oxide//prelude.bzl", "action", "attr", "command", "out_path", "output", "result", "rule")

def _rust_constants(ctx):
    lines = ["//! Made from the table of %s." % ctx.label]
    for name, value in sorted(ctx.attrs.values.items()):
        if name != name.upper():
            fail("`%s` in `values` of `%s` must be upper case: constants are, in Rust" % (name, ctx.label))
        lines.append("pub const %s: %s = %s;" % (name, ctx.attrs.type, value))
    path = out_path(ctx, ctx.name + ".rs")
    return result(
        actions = [action(
            stage = "write",
            commands = [command(["@write-file", path, "\n".join(lines) + "\n"])],
            inputs = [],
            outputs = [path],
        )],
        outputs = [output(path)],
    )

RULES = {
    "rust_constants": rule(
        implementation = _rust_constants,
        doc = "A Rust module `NAME.rs` of constants, for use in the `srcs` of a crate.",
        attrs = {
            "values": attr.string_map("Constant to Rust expression.", mandatory = True),
            "type": attr.string("Rust type of all of them.", default = "usize"),
        },
    ),
}
