"""Parts of all topics: cells and tables, text, money, templates, and the base class of a suite's figures."""
