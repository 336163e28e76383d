"""`python -m pilotage.cli`: the command without a script on the path."""

import sys

from pilotage.cli import main

sys.exit(main())
