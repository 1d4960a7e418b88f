"""pdFTSP seen as an auction: what each bidder pays, whatever it bids."""
