# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.recording.errors import NewerRecording as NewerRecording
from pilotage.recording.errors import NoRecording as NoRecording
from pilotage.recording.errors import RecordingError as RecordingError
from pilotage.recording.reader import Recording as Recording
from pilotage.recording.reader import Session as Session
from pilotage.recording.reader import read as read
from pilotage.recording.recorder import recorded_file as recorded_file
