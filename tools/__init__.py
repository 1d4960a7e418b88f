"""Programs for those who keep the project: tables and pictures of the documentation, speed, the wheel."""
