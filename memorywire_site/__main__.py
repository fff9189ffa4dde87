"""``python -m memorywire_site``: the command line, for whoever has an interpreter and no script."""

from memorywire_site.command_line import main

main()
