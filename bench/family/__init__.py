"""What a family of problems is to the commands, suites and the store."""
