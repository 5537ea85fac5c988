"""Snapshots: knowing in milliseconds that a build has nothing to do."""
