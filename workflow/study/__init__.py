"""The study of the paper: settings, plans, trained baselines, summaries, claims, pages. Not in the wheel."""
