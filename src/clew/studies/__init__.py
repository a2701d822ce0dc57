"""Studies: plans, stages and tables. No engine code."""
