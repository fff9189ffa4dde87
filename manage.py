#!/usr/bin/env python
"""The command line, in a source tree."""

from memorywire_site.command_line import main

if __name__ == "__main__":
    main()
