"""The commands: options, work, text and document of each, for the command line and as functions."""
