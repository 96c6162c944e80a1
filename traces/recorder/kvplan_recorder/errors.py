class RecorderError(Exception):
    """What cannot be recorded, in one line."""
