"""The `oxide` command: the only place that prints or exits."""
