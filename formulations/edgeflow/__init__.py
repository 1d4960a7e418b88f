"""OPT of edgeflow, the most deadlines that can be met: bounds, schedules, and the exact verification of both."""
