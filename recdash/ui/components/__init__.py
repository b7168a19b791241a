"""Building blocks that several pages use."""
