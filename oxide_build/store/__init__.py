"""Digests, blobs, action results and remembered file states on disk."""
