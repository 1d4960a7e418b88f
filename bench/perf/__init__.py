"""Speed, side by side."""
