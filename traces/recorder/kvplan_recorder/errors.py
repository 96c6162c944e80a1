class RecorderError(Exception):
    """Something that cannot be recorded, described in one line."""
