"""The covering programme of one task: which cells finish its work, at which cost."""
