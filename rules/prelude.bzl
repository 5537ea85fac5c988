"""The words of the rule language. Rule files load what they need from here.

A rule file exports `RULES`, a dict from rule name to `rule(...)`, and may export `TOOLCHAINS`, a
dict from toolchain kind to `toolchain(...)`. An implementation is pure: it gets `ctx` and returns
`result(...)`; it can neither read nor write anything.

`ctx` of a rule has
    label, package, name   strings
    attrs                  a struct of the attributes, `select` resolved; a source attribute is a
                           list of paths, a label attribute a struct of the target's providers
                           (`label`, `files` and what its rule returned)
    archs                  the archs to build for: structs of `name` ("sm_90a"), `number`,
                           `suffix`, `ptx`, `cubin` (which forms become outputs), `ptx_feature`
                           ("ptx80" where `min_ptx` asks for more than the arch needs, else "")
    config                 "" or a short name that tells this configuration from others
    scanned                attribute -> the words of its `scan` list that occur in its files
    crates                 None, or what the `crates` toolchain's implementation provides for the lock
                           file of a rule that has one and takes crates from outside
    toolchains             kind -> arch name -> struct of what the toolchain's implementation
                           provides; "" stands for rules that build for no arch
"""

def _attr(kind, doc, **more):
    return struct(kind = kind, doc = doc, more = more)

def _string(doc, **more):
    return _attr("string", doc, **more)

def _bool(doc, **more):
    return _attr("bool", doc, **more)

def _int(doc, **more):
    return _attr("int", doc, **more)

def _string_list(doc, **more):
    return _attr("string_list", doc, **more)

def _string_map(doc, **more):
    return _attr("string_map", doc, **more)

def _label(doc, **more):
    return _attr("label", doc, **more)

def _label_list(doc, **more):
    return _attr("label_list", doc, **more)

def _source(doc, **more):
    return _attr("source", doc, **more)

def _source_list(doc, **more):
    return _attr("source_list", doc, **more)

def _output_list(doc, **more):
    return _attr("output_list", doc, **more)

# attr.KIND(doc, default = …, mandatory = …, configurable = …, values = […], refuse = {…},
#           rules = […], extensions = […], scan = […])
attr = struct(
    string = _string,
    bool = _bool,
    int = _int,
    string_list = _string_list,
    string_map = _string_map,
    label = _label,
    label_list = _label_list,
    source = _source,
    source_list = _source_list,
    output_list = _output_list,
)

def rule(implementation, attrs, doc, per_arch = False, toolchains = [], lockfile = None):
    """A rule: what its tables may hold and what becomes of them.

    per_arch    targets build for a list of archs of their own (`archs = […]`); other rules
                build for the archs of whoever depends on them
    toolchains  kinds that `ctx.toolchains` must have
    lockfile    the source attribute that names a `Cargo.lock`, whose crates `ctx.crates` has; needs
                the toolchain `rust`
    """
    return struct(
        implementation = implementation,
        attrs = attrs,
        doc = doc,
        per_arch = per_arch,
        toolchains = toolchains,
        lockfile = lockfile,
    )

def toolchain(implementation, doc):
    """What a toolchain needs built once before it can be used, and what it tells rules.

    The implementation gets `ctx` with kind, id, version, tools, facts, env.
    """
    return struct(implementation = implementation, doc = doc)

def command(argv, stdout = None, stderr = None):
    """One step: a tool of a toolchain, or a built-in step (`@place-address-spaces`).

    `{cwd}` in an argument is the action's own folder as an absolute path. Streams go to the
    user unless a file takes them.
    """
    return struct(argv = argv, stdout = stdout, stderr = stderr)

def action(stage, commands, inputs, outputs, tools = [], env = {}, arch = None):
    """Commands that run in a private folder holding `inputs` and nothing else.

    tools  (toolchain id, tree) pairs: the parts of toolchains that may be read
    """
    return struct(
        stage = stage,
        commands = commands,
        inputs = inputs,
        outputs = outputs,
        tools = tools,
        env = env,
        arch = arch,
    )

def output(path, arch = None):
    """A file that `oxide build` puts into `oxide-out`."""
    return struct(path = path, arch = arch)

def result(actions = [], outputs = [], files = None, notes = {}, **providers):
    """What an implementation returns.

    outputs    list of `output(…)`: what building the target leaves in `oxide-out`
    files      paths that the target stands for as a source of others (default: the outputs)
    notes      what reports show of the target ("front_end": "shared")
    providers  for dependents: plain values by name
    """
    return struct(
        actions = actions,
        outputs = outputs,
        files = [o.path for o in outputs] if files == None else files,
        notes = notes,
        providers = providers,
    )

def out_path(ctx, name):
    """Where an output of this target lies for people to find."""
    return join("oxide-out", ctx.package, name)

def config_path(ctx, name):
    """As `out_path`, but apart for each configuration whose content differs."""
    return join("oxide-out/.config", ctx.config, ctx.package, name) if ctx.config else out_path(ctx, name)

def stage_path(ctx, name):
    """Where an intermediate file of this target lies; never copied into `oxide-out`."""
    own = ctx.name + ("." + ctx.config if ctx.config else "")
    return join("oxide-out/.stage", ctx.package, own, name)

def join(*parts):
    return "/".join([part for part in parts if part])

def unique(items):
    """The items in order of first mention, each once."""
    return {item: None for item in items}.keys()
