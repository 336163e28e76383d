"""`python -m pilotage.cli`: the command, where it is not on the path."""

import sys

from pilotage.cli import main

sys.exit(main())
