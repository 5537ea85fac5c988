"""Targets to actions: evaluates the rules written in Starlark."""
