"""Backtests: what each policy would have earned on past days, and which one to take."""
