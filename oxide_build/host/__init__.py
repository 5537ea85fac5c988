"""The doors to the machine: processes, files, locks."""
