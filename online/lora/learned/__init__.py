"""What `learned` knows of a day before and while it comes: past tasks, forecasts, prices and how nodes fill up."""
