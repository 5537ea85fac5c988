"""The nouns: values without I/O, shared by every phase."""
