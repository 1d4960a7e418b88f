"""Files, errors, keys of recipes, random streams: what every layer uses; nothing here knows a family."""
