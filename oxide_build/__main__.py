"""`python -m oxide_build` is `oxide`."""

from oxide_build.cli.main import main

main()
