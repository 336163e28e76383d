"""`python -m pilotage`: the command without a script on the path, and of this Python."""

import sys

from pilotage.cli import main

if __name__ == "__main__":
    sys.exit(main())
