"""Studies of bidders: utility over the bid, and charges of the admitted tasks."""
