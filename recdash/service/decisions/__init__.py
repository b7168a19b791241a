"""Reviews, decisions and the journal of an experiment."""
