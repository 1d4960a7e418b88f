"""The page of a run, one module per part: `layout` puts them in order, `markup` knows HTML."""
