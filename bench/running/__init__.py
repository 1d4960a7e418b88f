"""Running a suite: pieces of work, workers, progress."""
