"""The page of a run: modules gather what it shows, the templates beside them are its HTML."""
