"""`python -m oxide_build` is `oxide`."""

from oxide_build.entry import main

main()
